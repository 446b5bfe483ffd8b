// Quantiles of the ball: the offset u (or x) at a given normal score z.
//
// The signed root r = sign(tau) sqrt(-2 phi0) is nearly the score itself, in every dimension
// and both tails: z = r + log(w/r)/r + O(c2^-3/2), w = tau sqrt(c2) (Lugannani and
// Rice). So the solve runs in r: that formula first, then Newton on the exact score,
// whose slope comes from the same nodes: dz/dr = sqrt(2 pi) exp((z^2 - r^2)/2) density r/tau.
// One exact evaluation suffices from c2 of a few hundred on, two or three below. x and u then
// follow from tau in closed form, without cancellation:
//   x - N - s^2 = 2 tau (mu + h (2 + tau)),   u = 2 [mu (1 + tau) + h tau (2 + tau)]/(s + rho).
// Derived in docs/theory/off-centre-ball.md; R. Lugannani, S. Rice, Saddle point approximation for
// the distribution of the sum of independent random variables, Adv. Appl. Prob. 12 (1980) 475.
// Error: that of the score over dz/du, plus one rounding of the result.
#pragma once

#include "ball.hpp"

namespace rsb {

// The saddle as a function of r alone: tau with mu (tau - log1p tau) + h tau^2 = r^2/2 and
// sign(tau) = sign(r). `root` = sqrt(1 + tau) stays meaningful where 1 + tau underflows.
struct Root {
    double tau, root;
};

inline Root deep_root(double mu, double h, double target) {  // tau < -0.4; unknown log1p(tau)
    double low = -(target / mu + 1) * (1 + 1e-15), high = -0.5;
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
        const double step = f / (tau * (mu / (1 + tau) + 2 * h));
        tau -= step;
        if (!(std::fabs(step) > 1e-8 * std::fabs(tau))) break;
    }
    return {tau, std::sqrt(1 + tau)};
}

struct Quantile {
    double mu, h;
    Root at;
    double r, density, tail;  // the last two of the last exact evaluation, scaled as in Integral
    double beta() const { return h * (at.root * at.root); }
    double rho() const { return at.root * std::sqrt(2 * (mu + beta())); }
    double excess() const { return 2 * at.tau * (mu + h * (2 + at.tau)); }  // x - N - s^2
};

// Where the solve begins: the root of a neighbouring ball of the same score.
struct Start {
    double r = nan, tau = nan;
};

inline Quantile quantile(double z, double mu, double h, Start near = {}) {  // z finite
    // r to second order in z/sqrt(c2), then the Lugannani-Rice formula; or what `near` says
    const double s2 = mu + 2 * h, sd = std::sqrt(s2), y = z / sd;
    const double a = 2 * h / s2, b = 2 * mu / (3 * s2), c = mu / (2 * s2);
    const double guess = z - 0.5 / sd * (a + b + 0.5 * (a * b + 2 * b * b - a * a - 2 * c) * y);
    const bool known = near.r == near.r, series = std::fabs(y) < 0.2;
    const double r = known ? near.r : series ? guess : z;
    const double tau = known ? near.tau : r / sd * (1 + 0.5 * b * r / sd);
    Quantile out{mu, h, root_of(mu, h, r, tau), r, 0, 0};
    const auto move = [&](double step, double slope) {
        out.r += step;
        out.at = root_of(mu, h, out.r, out.at.tau + slope * step);
    };
    for (int i = 0; i < (known ? 0 : series ? 1 : 6); ++i) {
        const double c2 = mu + 2 * out.beta(), tau = out.at.tau;
        if (std::fabs(out.r) < 1e-3 && series) break;
        const double w = tau * std::sqrt(c2) / out.r;
        const double step = z - std::log(w) / out.r - out.r;
        move(step, std::sqrt(c2) * out.at.root * out.at.root / (w * c2));
        if (!(std::fabs(step) > 1e-5)) break;
    }
    for (int i = 0; i < 50; ++i) {
        const double c2 = mu + 2 * out.beta(), tau = out.at.tau;
        const double phi0 = -0.5 * out.r * out.r;
        const double excess = 2 * tau * (mu + h * (2 + tau));
        const Integral in = contour(mu, out.beta(), c2, tau, out.at.root, phi0, excess);
        const double zk = Tail{phi0, in.tail, in.density, in.drift, tau >= 0}.score();
        const double spread = std::fabs(out.r) < 1e-8 ? 1 / std::sqrt(c2) : tau / out.r;
        // far out dz/dr is 1, and the exponent has lost its digits
        const double slope = std::fabs(z) > 1e7 ? 1
                             : sqrt_2pi * in.density / spread *
                                   std::exp(0.5 * (zk - out.r) * (zk + out.r));
        const double step = (z - zk) / slope;
        move(step, out.at.root * out.at.root / (spread * c2));
        out.density = in.density, out.tail = in.tail;
        // the error left is about step^2/(10 c2^3/2)
        if (!(step * step > 1e-15 * (0.3 + c2 * std::sqrt(c2)))) break;
    }
    return out;
}

struct Ball {
    double u, rho;  // rho = s + u
};

inline Ball ball_of(const Quantile& q, double s) {
    const double rho = q.rho(), tau = q.at.tau;
    // 0 where rho underflows; where s^2 does, the difference is as good as rho
    if (s <= 0.5 * rho || s < 1e-100) return {rho - s, rho};
    return {2 * (q.mu * (q.at.root * q.at.root) + q.h * tau * (2 + tau)) / (s + rho), rho};
}

inline Ball ball_at(double z, double dim, double s) {  // z finite, s < half_space
    return ball_of(quantile(z, 0.5 * dim, 0.5 * s * s), s);
}

inline double ball_offset(double z, double dim, double s) {
    if (!ball_domain(z, dim, s)) return nan;
    if (std::fabs(z) == inf) return z < 0 ? -s : inf;
    if (s >= half_space || z >= half_space) return std::fmax(z, -s);
    return z <= -half_space ? -s : ball_at(z, dim, s).u;
}

inline double ncx2_quantile(double z, double df, double nc) {
    if (!(df > 0 && df <= 1e8 && nc >= 0 && nc <= 1e60 && z == z)) return nan;
    if (std::fabs(z) == inf) return z < 0 ? 0 : inf;
    if (std::fabs(z) >= half_space) return z < 0 ? 0 : (std::sqrt(nc) + z) * (std::sqrt(nc) + z);
    const Quantile q = quantile(z, 0.5 * df, 0.5 * nc);
    const double tau = q.at.tau;
    if (tau > -0.25) return nc + (df + 2 * tau * (q.mu + q.h * (2 + tau)));
    return q.rho() * q.rho();
}

}  // namespace rsb
