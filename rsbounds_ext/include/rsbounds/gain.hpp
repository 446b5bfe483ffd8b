// The two-point gain: how far the step from noise sigma0 to sigma1 moves the score of the worst set.
// Derived, error bound included, in docs/theory/two-point.md ("Gains", "The error bound of a gain").
//
// x0 is smoothed with sigma0, a point at distance a from it with sigma1 = k sigma0. In units of sigma0
// (alpha = a/sigma0) the worst of all sets of P0-score b is a ball (k < 1) or the complement of one (k > 1),
// [S] Theorem 2. G is the score of ball.hpp; the worst set's P1-score is X:
//   k < 1: s0 = alpha/(1 - k^2), G(s0, u0) =  b, X =  G(k s0, (u0 + alpha)/k)
//   k > 1: s0 = alpha/(k^2 - 1), G(s0, u0) = -b, X = -G(k s0, (u0 - alpha)/k)
// and X - b is the gain. Three ways to it, each with its own `error`:
//   difference   X - b. The end of the ball is carried over in D = rho^2 - s^2 - N,
//                k^2 D1 = D0 +- (N |k^2 - 1| + alpha s0 (1 + k^2)), or in u, whichever rounds less.
//                An error e of b's ball reaches X as e dX/db, where dX/db is the quotient of the two
//                slopes dG/dlog rho, up to hazard(b)/hazard(X) > 1 for a ball that grows.
//   integral     for small gains, where the difference loses its digits: Gauss-Legendre nodes on the
//                segment of G_u du + G_s ds, du = +-(u0 |1 - k| + alpha)/k, ds = -+alpha/(1 + k), in
//                panels so short that G is analytic about each (`analytic`).
//   tiny balls   radius and probability in logarithms, where they underflow.
// tests/gain_attack.cpp searches for errors beyond the bound: .29 of it was the largest of 149,000.
// Source: [S] Sukenik, Kuvshinov, Günnemann, Intriguing properties of input-dependent randomized smoothing,
// ICML 2022.
#pragma once

#include "quantile.hpp"

namespace rsb {

// Bounds of errors (docs/theory/proofs.md): of a score and of b's quantile per 1 + |.|; of a subtraction; of an
// end carried over, per what rounds; room for the tail's second order; half-spaces; tiny balls; both means
constexpr double score_error = 4e-15, sum_error = 3e-16, end_error = 8e-16, second_order_room = 1.5,
                 half_space_error = 2e-15, tiny_error = 2e-15, hazard_mean_error = 1e-13,
                 radius_error = 1e-15, slope_mean_error = 5e-13;

struct Ratio {
    double k, change, change2;  // sigma1/sigma0, |k - 1|, |k^2 - 1|, each to a few ulp
    double rate = 0;            // |d log k|/d log alpha as alpha grows: for the slope alone
    double log_k = nan;         // log k, for a k that may underflow
    double log(bool up) const {
        if (log_k == log_k) return log_k;
        return up ? std::log1p(change) : change < 0.5 ? std::log1p(-change) : std::log(k);
    }
};

struct Gain {
    double value, error;
    double slope = nan;  // dX/d log alpha, good to a few per cent or better; or NaN
    double score = nan, score_error = nan;  // X itself, from a difference: nearer than b + value
};

// e^phi0 over the normal density at the score z
inline double over_normal(const Tail& t, double z) {
    z = std::fabs(z);
    return z > 8 ? mills(z) / t.total() : sqrt_2pi * std::exp(0.5 * z * z + t.phi0.hi);
}

// dG along (drho, -ds) at (s, rho), two terms of one sign; `over` is over_normal there
inline double slope_along(const Tail& t, double over, double mu, double rho, double s, double drho,
                          double ds) {
    const double growth = 2 * (mu + t.beta) / rho;
    return over * (growth * t.density * drho + s * (t.density + t.drift) * ds);
}

// Whether dG along a panel, of length drho and ds with the tail t in its middle, is analytic within `reach`
// half lengths of the middle, and at most 27.5 of its value there (docs/theory/saddle.md, "Short segments").
inline bool analytic(const Tail& t, double score, double slope, double mu, double rho, double s,
                     double drho, double ds, double reach) {
    const double c2 = mu + 2 * t.beta, root = std::sqrt(c2), ratio = rho * rho / (mu + c2);
    const double half = 0.5 * reach, y = half * drho * rho / ratio, h = half * ds * s;
    return half * drho <= 0.1 * rho && half * ds <= 0.1 * s && y + h * ratio <= 0.23 * root &&
           std::fabs(ratio - 1) * (y + h) <= 0.47 &&
           std::fmin(t.density, t.density + t.drift) * root >= 0.3 &&
           (c2 < 5 ? 15 : 4) * half * slope * (1 + std::fabs(score)) <= 0.3;
}

// Mean of f over [0, 1]: Gauss-Legendre, 3 nodes or 9, the middle among them.
template <class F>
double mean_of(F f, bool wide) {
    if (!wide) return (5 * f(0.1127016653792583) + 8 * f(0.5) + 5 * f(0.8872983346207417)) / 18;
    static constexpr double node[] = {
        0.015919880246186957, 0.08198444633668212, 0.19331428364970482, 0.33787328829809554};
    static constexpr double weight[] = {
        0.04063719418078721, 0.09032408034742870, 0.13030534820146773, 0.15617353852000142};
    double mean = 0.16511967750062989 * f(0.5);
    for (int i = 0; i < 4; ++i) mean += weight[i] * (f(node[i]) + f(1 - node[i]));
    return mean;
}

// X - b, where the error of the ball may have moved X by `moved`
inline Gain difference(double x, double b, double moved, double slope = nan) {
    const double error = moved + score_error * (1 + std::fabs(x));
    return {x - b, error + sum_error * std::fabs(b), slope, x, error};
}

// A ball under sigma0 so small that P0 = (volume)(density at the centre): its radius follows from log P0. If
// it is small under sigma1 as well, log P changes by -N log k +- (s0^2 - s1^2)/2, and the score by that over
// the mean hazard on the way.
inline Gain tiny_gain(double b, double alpha, const Ratio& r, bool up, double dim, double s0) {
    const double score = up ? -b : b, half = 0.5 * s0 * alpha, log_k = r.log(up);
    const double log_p = log_ndtr(score), volume = std::lgamma(0.5 * dim + 1);
    const double log_rho1 = (log_p + 0.5 * s0 * s0 + volume) / dim + 0.5 * ln2 - log_k;
    const double lost = tiny_error * (-log_p + half + dim * std::fabs(log_k));  // of log P1
    if (!(log_rho1 < -230)) {
        const double rho1 = std::exp(log_rho1), s1 = r.k * s0, mu = 0.5 * dim;
        const Tail end = ball_tail(rho1 - s1, rho1, dim, s1);
        const double x = end.score();
        const double slope = 2 * (mu + end.beta) * end.density * over_normal(end, x);
        const double moved = (lost + tiny_error * (volume + s0 * s0)) / dim + radius_error;
        return difference(up ? -x : x, b, second_order_room * slope * moved);
    }
    const double change = (up ? -half : half) - dim * log_k;
    if (std::fabs(change) > -0.01 * log_p) {
        const double x = ndtri_exp(log_p + change);
        return {std::fabs(x - score), score_error * (std::fabs(x) - score) - lost / x};
    }
    double g = 0;
    for (int i = 0; i < 8; ++i)
        g = change / mean_of([=](double t) { return 1 / mills(-score - t * g); }, false);
    return {std::fabs(g), hazard_mean_error * std::fabs(g)};
}

// X for sigma1 so far above sigma0 that k underflows: the ball is tiny under sigma1 as well, so its volume
// and the density at its centre, `offset` in units of sigma1, give its probability.
inline double remote_score(double offset, double score, double log_ratio, double dim) {
    if (offset >= half_space) return offset;
    const double volume = std::lgamma(0.5 * dim + 1), rho = ball_offset(-score, dim, 0);
    const double log_rho = rho > 1e-140 ? std::log(rho) - 0.5 * ln2 : (log_ndtr(-score) + volume) / dim;
    return -ndtri_exp(dim * (log_rho - log_ratio) - volume - 0.5 * offset * offset);
}

// The quantile begins at `near`, and where it ends becomes `near`.
inline Gain gain(double b, double alpha, const Ratio& r, bool up, double dim, Start& near) {
    if (!(r.change > 0)) return {alpha, sum_error * alpha, alpha};
    if (!((r.k > 0 || r.log_k == r.log_k) && r.change2 < inf)) return {inf, 0};
    const double s0 = alpha / r.change2;
    if (s0 >= half_space) {
        const double all = (alpha + (up ? -b : b) * r.change) / r.k;
        return {all, half_space_error * (alpha + std::fabs(b) * r.change) / r.k, alpha / r.k};
    }
    const Quantile q = quantile(up ? -b : b, 0.5 * dim, 0.5 * s0 * s0, near);
    near = {q.r, q.at.tau};
    const double rho0 = q.rho(), c2 = q.mu + 2 * q.beta();
    if (rho0 < 1e-140) return tiny_gain(b, alpha, r, up, dim, s0);
    const double sign = up ? -1 : 1, s1 = r.k * s0, rho1 = rho0 / r.k, k2 = r.k * r.k;
    const double lost = score_error * (1 + std::fabs(b));
    // the end of the ball in D where saddle_at goes by D and D rounds less than rho ...
    const double d0 = q.excess(), moved = dim * r.change2 + alpha * s0 * (1 + k2);
    const Sum2 d1 = two_sum(d0, sign * moved);
    const double by_d = (std::fabs(d0) + moved) / (2 * rho0 * rho0);
    const bool in_d = by_d < 1 && r.k > 0.1 && d1.hi > -0.2 * k2 * (dim + s1 * s1);
    // ... else in u = rho - s; `rounding` of rho1 in 8e-16
    const Ball ball = in_d ? Ball{nan, rho0} : ball_of(q, s0);
    const double u1 = rho0 < 0.5 * s0 ? rho1 - s1 : (ball.u + sign * alpha) / r.k;
    const double by_u = std::fmin((std::fabs(ball.u) / r.k + std::fabs(u1)) / rho1, 1);
    const double rounding = end_error * (in_d ? by_d : by_u);
    double amplified = 0;  // |dX/db - 1|
    Gain out;
    if (in_d || u1 < half_space) {
        const Tail end = in_d ? tail_of(dim, two_prod(s1, s1), rho1 * rho1, {rho1, 0}, d1 / k2, true)
                              : ball_tail(u1, rho1, dim, s1, true);
        const double x = end.score(), over = over_normal(end, x);
        const double growth = 2 * (q.mu + end.beta) * end.density * over;
        // to first order the worst set stays the worst when alpha grows: the ball stands still
        const double slope =
            slope_along(end, over, q.mu, rho1, s1, r.rate * rho1, alpha / r.k - r.rate * s1);
        amplified = second_order_room * std::fabs(growth / q.slope - 1);
        out = difference(up ? -x : x, b, second_order_room * growth * (lost / q.slope + rounding), slope);
    } else {  // a half-space
        out = difference(up ? -u1 : u1, b, second_order_room * u1 * (lost / q.slope + rounding), alpha / r.k);
    }
    const double ds = alpha / (1 + r.k), drho = rho0 * (r.change / r.k);
    const double size = out.value + out.error, change = r.change / r.k;
    const double span = std::fmax((drho + 2 * ds) / std::sqrt(c2), change);
    if (!(out.error > 2.5e-12 * out.value && span <= 0.1)) return out;
    // panels by what `analytic` asks for; the radii of the ellipses leave 4e-14 and 2e-13 of the gain
    const double least = std::fmax((c2 < 5 ? 30 : 8) * size * (1 + std::fabs(b)), 6 * change);
    const bool wide = 200 * least > 1;
    const double reach = wide ? 3.6 : 200.1, panels = wide ? std::ceil(3.6 * least) : 1;
    if (!(panels <= 256)) return out;
    const double u0 = ball_of(q, s0).u, du = (u0 * r.change + alpha) / r.k, part = 1 / panels;
    bool sound = true;
    double total = 0;
    for (double i = 0; i < panels; ++i)
        total += part * mean_of(
            [&](double t) {
                const double v = sign * part * (i + t), rho = rho0 + v * drho, s = s0 - v * ds;
                const Tail at = ball_tail(u0 + v * du, rho, dim, s, true);
                const double score = at.score();
                const double slope = slope_along(at, over_normal(at, score), q.mu, rho, s, drho, ds);
                if (t == 0.5)
                    sound &= analytic(at, score, part * slope, q.mu, rho, s, part * drho, part * ds, reach);
                return slope;
            },
            wide);
    if (!sound) return out;
    const double moved_by_e = std::fmin(amplified, (c2 < 5 ? 1500 : 110) * total * (1 + std::fabs(b)));
    return {total, slope_mean_error * total + moved_by_e * lost, total};
}

inline Gain gain(double b, double alpha, const Ratio& r, bool up, double dim) {
    Start cold;
    return gain(b, alpha, r, up, dim, cold);
}

}  // namespace rsb
