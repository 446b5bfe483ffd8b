// Quantiles of the ball: the offset u, or the point x, at which it has a given normal
// score z. Symbols as in ball.hpp; derived in docs/theory/off-centre-ball.md, "The
// inverse".
//
// The signed root r = sign(tau) sqrt(-2 phi0) is nearly the score itself, in every
// dimension and both tails: z = r + log(w/r)/r + O(c2^-3/2), w = tau sqrt(c2)
// (Lugannani and Rice). So the solve runs in r: first that formula, then Newton's
// method on the exact score, whose slope comes from the same nodes: dz/dr = sqrt(2 pi)
// exp((z^2 - r^2)/2) density r/tau. One exact evaluation suffices from c2 of a few
// hundred on, two or three below. The last step, by two terms in z, stays beside the
// exact root of the evaluation, not added to it, so that D = 2 tau (mu + h (2 + tau))
// and u (2 s + u) = N + D are solved in two doubles.
//
// Regimes of the root: for tau below about -0.4 in log(1 + tau), as 1 + tau may
// underflow (deep_root); else in tau. Error: that of the score over dz/du, 1e-15 max(1,
// |z|), and two roundings of the result. Source: Lugannani and Rice 1980; in full on
// the page above.
#pragma once

#include "ball.hpp"

namespace rsb {

// The saddle as a function of r alone: tau with mu (tau - log1p tau) + h tau^2 = r^2/2
// and sign(tau) = sign(r). `root` = sqrt(1 + tau) stays meaningful where 1 + tau
// underflows.
struct Root {
    double tau, root;
};

// tau < -0.4, solved for lambda = log1p(tau), as 1 + tau may underflow: bisected Newton
inline Root deep_root(double mu, double h, double target) {
    double low = -(target / mu + 1) * (1 + 1e-15);
    double high = -0.5;
    double lambda = std::fmax(low, -std::sqrt(target / (0.5 * mu + h)));
    for (int i = 0; i < 200; ++i) {
        const double tau = std::expm1(lambda);
        const double f = mu * (tau - lambda) + h * tau * tau - target;
        (f > 0 ? low : high) = lambda;
        double next = lambda - f / (tau * (mu + 2 * h * (1 + tau)));
        if (!(next >= low && next <= high)) next = 0.5 * (low + high);
        const double step = next - lambda;
        lambda = next;
        if (!(std::fabs(step) > -1e-9 * lambda)) break;
    }
    return {std::expm1(lambda), std::exp(0.5 * lambda)};
}

inline Root root_of(double mu, double h, double r, double tau) {
    const double target = 0.5 * r * r;
    if (!(target > 0)) return {0, 1};
    if (r < 0 && target > 0.1108 * mu + 0.16 * h) return deep_root(mu, h, target);
    if (!(tau * r > 0)) tau = r / std::sqrt(mu + 2 * h);
    for (int i = 0; i < 100; ++i) {  // convex: monotone once past the root
        tau = std::fmax(tau, -0.45);
        const double f = mu * log1p_defect(tau) + h * tau * tau - target;
        const double part = mu / (1 + tau);
        const double slope = part + 2 * h;
        const double newton = f / (tau * slope);
        const double curve = (part / (1 + tau) + 2 * h) / (tau * slope);
        const double step = newton / (1 - 0.5 * newton * curve);  // Halley's
        tau -= step;
        if (!(std::fabs(step) > 4e-6 * std::fabs(tau))) break;
    }
    return {tau, std::sqrt(1 + tau)};
}

// of the slopes that a step goes by, relative (docs/theory/proofs.md)
constexpr double step_error = 1e-11;

struct Quantile {
    double mu, h, h_low;
    Root at;
    double r;
    double slope = 0;     // dG/dlog rho
    double raised = inf;  // its score is on the side asked for, by at most twice this
    double step = inf;    // the last step, in the score
    double blur = inf;    // what it leaves of the slope, relative
    // `at` in more digits: 1 + tau = (1 + last.tau)(1 + growth), `last` an exact root
    Root last;
    double growth = 0;

    double beta() const {
        return at.tau >= -0.25 ? h + h * at.tau : h * (at.root * at.root);
    }
    double rho() const { return at.root * std::sqrt(2 * (mu + beta())); }
    // whether 1 + last.tau is the square of last.root
    bool deep() const { return last.tau < -0.25; }

    Tail tail_there() const {
        const double tau = at.tau;
        const double c2 = mu + 2 * beta();
        const double excess = 2 * tau * (mu + h * (2 + tau));
        const Sum2 half = {h, h_low};
        const Sum2 ratio = two_prod(at.root, at.root);
        const Sum2 phi0 =
            tau >= -0.25       ? exponent_near(mu, half * two_prod(tau, tau), tau).phi0
            : at.root > 1e-290 ? exponent_deep(mu, half, ratio + -1.0, at.root, 0).phi0
                               : Sum2{-0.5 * r * r, 0};
        const Integral i =
            contour(mu, beta(), c2, tau, at.root, excess, !(phi0.hi > -0.5), false);
        return tail_from(phi0, i.tail, i, tau >= 0, {}, 0);
    }
    Sum2 excess_two() const {  // D = x - N - s^2
        const Sum2 tau = two_sum(last.tau, (1 + last.tau) * growth);
        const Sum2 d = tau * (Sum2{h, h_low} * (tau + 2.0) + mu);
        return {2 * d.hi, 2 * d.lo};
    }
    Sum2 rho_two() const {
        return deep() ? rho_deep()
                      : square_root(excess_two() + Sum2{2 * h, 2 * h_low} + 2 * mu);
    }
    Sum2 rho_deep() const {
        const Sum2 more = two_sum(1, growth);
        const Sum2 ratio = two_prod(last.root, last.root) * more;
        const Sum2 v = (Sum2{h, h_low} * ratio + mu) * Sum2{2 * more.hi, 2 * more.lo};
        return square_root(v) * last.root;
    }
};

// Where the solve begins, if given: at the root of a neighbouring ball of the same
// score.
struct Start {
    double r = nan;
    double tau = nan;
};

// `score` finite, half = s^2/2. The ball's score is at least `score` if outward is 1,
// at most if -1.
inline Quantile quantile(Sum2 score, double mu, Sum2 half, Start near = {},
                         double outward = 0) {
    const double z = score.hi;
    const double h = half.hi;
    // the first r: to second order in z/sqrt(c2), then by the formula of Lugannani and
    // Rice; or from `near`
    const double s2 = mu + 2 * h;
    const double sd = std::sqrt(s2);
    const double y = z / sd;
    const double a = 2 * h / s2;
    const double b = 2 * mu / (3 * s2);
    const double c = mu / (2 * s2);
    const double guess =
        z - 0.5 / sd * (a + b + 0.5 * (a * b + 2 * b * b - a * a - 2 * c) * y);
    const bool given = near.r == near.r;
    const bool series = std::fabs(y) < 0.2;
    const double r = given ? near.r : series ? guess : z;
    const double tau = given ? near.tau : r / sd * (1 + 0.5 * b * r / sd);
    Quantile out{mu, h, half.lo, root_of(mu, h, r, tau), r};
    const auto move = [&](double step, double slope) {
        out.r += step;
        out.at = root_of(mu, h, out.r, out.at.tau + slope * step);
    };
    // the error of the series; if that is `ready`, one exact evaluation will do (see
    // the end of the loop)
    const double error = 0.05 * (1 + z * z) / (s2 * sd);
    const bool ready = given || (series && error * error < 1e-16 * s2 * sd);
    for (int i = 0; i < (ready ? 0 : series ? 1 : 6); ++i) {
        const double c2 = mu + 2 * out.beta();
        const double tau = out.at.tau;
        if (std::fabs(out.r) < 1e-3 && series) break;
        const double w = tau * std::sqrt(c2) / out.r;
        const double step = z - std::log(w) / out.r - out.r;
        move(step, std::sqrt(c2) * out.at.root * out.at.root / (w * c2));
        if (!(std::fabs(step) > 1e-5)) break;
    }
    for (int i = 0; i < 50; ++i) {
        const double beta = out.beta();
        const double c2 = mu + 2 * beta;
        const double far = mu + c2;
        const double tau = out.at.tau;
        const Tail in = out.tail_there();
        const Sum2 zk = in.score_two();
        const Sum2 miss = score - zk;
        const double r = std::copysign(std::sqrt(-2 * in.phi0.hi), tau);
        const double spread = std::fabs(r) < 1e-8 ? 1 / std::sqrt(c2) : tau / r;
        // with delta = dy/(1 + tau): dz/ddelta = p, dr/ddelta = spread, -dlog f/ddelta
        // = lean, f the density
        const double p = in.density * over_normal(in, zk.hi);
        const double share = beta / c2;
        const double inverse = 1 / p;
        const double lean = (tau + 2 * (1 - share * share) / far) * inverse;
        // on the side asked for: beyond the score's own error, and what the step leaves
        const double off = score_bound(c2, zk.hi);
        const double most = std::fabs(miss.hi) + 12 * off;
        // what two terms of the step leave (docs/theory/two-point.md, "The ball of a
        // budget")
        const double size = most * (std::fabs(zk.hi) + std::fabs(lean) + 1);
        const double g = 1.1 * most * inverse / c2;
        const double blur = step_error + 0.3 * g + 0.6 * c2 * g * g + 2 * size * size;
        const double left = most * blur;
        const bool near_by = size < 0.01 && g < 0.01;
        const bool known = near_by && left <= 10 * off;
        const double step = miss.hi + outward * (known ? off + left : 3 * off);
        const bool there = std::fabs(step) <= 2 * off;
        out.last = out.at;
        out.growth = 0;
        out.r = r;
        out.step = step;
        out.blur = blur;
        out.raised = known ? off + left : there ? 3 * off : inf;
        const double ratio = out.at.root * out.at.root;
        if (known || (outward == 0 && g < 0.01 && (near_by || there))) {
            const double pull =
                near_by ? zk.hi - lean : 0;  // cancels where the score is huge
            const double delta = step * inverse * (1 - 0.5 * step * pull);
            out.growth = 2 * delta / (c2 + std::sqrt(c2 * c2 + 4 * beta * delta));
            out.r = r + step * (spread * inverse);
            out.at = {tau + ratio * out.growth,
                      out.at.root * std::sqrt(1 + out.growth)};
            out.slope = far * p + step * (far * p * pull + 2);
        } else if (outward != 0 && there) {
            out.slope = far * p;
        } else {
            move(step * (spread * inverse), ratio / (spread * c2));
            out.last = out.at;
        }
        const double square = step * step;
        const double cube = square * std::fabs(step);
        const bool good =
            !(square > 1e-15 * (0.3 + c2 * std::sqrt(c2)) || cube > 1e-17 * c2);
        if (there || (good && (known || outward == 0))) break;
    }
    return out;
}
inline Quantile quantile(double z, double mu, double h) {
    return quantile({z, 0}, mu, {h, 0});
}

struct Ball {
    double u, rho;  // rho = s + u
};

inline Ball ball_of(const Quantile& q, double s) {
    if (q.deep()) {  // 0 where rho underflows
        const Sum2 rho = q.rho_deep();
        return {value(rho + -s), rho.hi};
    }
    // u (2 s + u) = N + D
    const Sum2 w = q.excess_two() + 2 * q.mu;
    const double u = w.hi / (s + std::sqrt(std::fma(s, s, w.hi)));
    const Sum2 rest = w - (two_sum(2 * s, u) * u);
    const double better = u + 0.5 * (value(rest) / (s + u));
    return {better, s + better};
}

inline Ball ball_at(double z, double dim, double s) {  // z finite, s < half_space
    const Sum2 nc = two_prod(s, s);
    return ball_of(quantile({z, 0}, 0.5 * dim, {0.5 * nc.hi, 0.5 * nc.lo}), s);
}

inline double ball_offset(double z, double dim, double s) {
    if (!ball_domain(z, dim, s)) return nan;
    if (std::fabs(z) == inf) return z < 0 ? -s : inf;
    if (s >= half_space || z >= half_space) return std::fmax(z, -s);
    return z <= -half_space ? -s : ball_at(z, dim, s).u;
}

inline double ncx2_quantile(Sum2 score, double df, double nc) {
    const double z = score.hi;
    if (!(df > 0 && df <= most_df && nc >= 0 && nc <= 1e60 && z == z)) return nan;
    if (std::fabs(z) == inf) return z < 0 ? 0 : inf;
    if (std::fabs(z) >= half_space)
        return z < 0 ? 0 : (std::sqrt(nc) + z) * (std::sqrt(nc) + z);
    const Quantile q = quantile(score, 0.5 * df, {0.5 * nc, 0});
    if (!q.deep()) return value(q.excess_two() + two_sum(nc, df));
    const Sum2 rho = q.rho_deep();
    return rho.hi * rho.hi + 2 * (rho.hi * rho.lo);
}

}  // namespace rsb
