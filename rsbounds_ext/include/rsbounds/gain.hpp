// The two-point gain: how far the step from noise sigma0 to sigma1 moves the score of the worst set.
// Derived, error bound included, in docs/theory/two-point.md ("Gains", "The error bound of a gain").
//
// x0 is smoothed with sigma0, a point at distance a from it with sigma1 = k sigma0. In units of sigma0
// (alpha = a/sigma0) the worst of all sets of P0-score b is a ball (k < 1) or the complement of one (k > 1),
// [S] Theorem 2. G is the score of ball.hpp; the worst set's P1-score is X:
//   k < 1: s0 = alpha/(1 - k^2), G(s0, u0) =  b, X =  G(k s0, (u0 + alpha)/k)
//   k > 1: s0 = alpha/(k^2 - 1), G(s0, u0) = -b, X = -G(k s0, (u0 - alpha)/k)
// and X - b is the gain. Three ways to it, each with its own `error`; value + error bounds the gain:
//   difference   X - b of a ball that has at least the budget's P0. Its end is carried over in D = rho^2 -
//                s^2 - N, k^2 D1 = D0 +- (N |k^2 - 1| + alpha s0 (1 + k^2)), or from rho, and rounded outward.
//                What the ball has too much reaches X times dX/db, which is the quotient of the two
//                slopes dG/dlog rho, up to hazard(b)/hazard(X) > 1 for a ball that grows.
//   integral     for small gains, where the difference loses its digits: Gauss-Legendre nodes on the
//                segment of G_u du + G_s ds, du = +-(u0 |1 - k| + alpha)/k, ds = -+alpha/(1 + k), in
//                panels so short that G is analytic about each (`analytic`).
//   tiny balls   radius and probability in logarithms, where they underflow.
// tests/gain_attack.cpp searches for errors beyond the bound: .30 of it was the largest.
// Source: [S] Sukenik, Kuvshinov, Günnemann, Intriguing properties of input-dependent randomized smoothing,
// ICML 2022.
#pragma once

#include "quantile.hpp"

namespace rsb {

// Bounds of errors (docs/theory/proofs.md): of a distance; of a level; of a subtraction; of an end carried
// over, and in two doubles; of half-spaces; of tiny balls; of both means
constexpr double distance_error = 2e-15, ratio_error = 5e-16, sum_error = 3e-16, end_error = 1.4e-15,
                 deep_error = 2e-30, half_space_error = 2e-15, tiny_error = 6e-15, hazard_mean_error = 1e-13,
                 slope_mean_error = 5e-13;

struct Ratio {
    double k, change, change2;  // sigma1/sigma0, |k - 1|, |k^2 - 1|
    double rate = 0;            // |d log k|/d log alpha as alpha grows: for the slope alone
    double log_k = nan;         // log k, for a k that may underflow
    double log(bool up) const {
        if (log_k == log_k) return log_k;
        return up ? std::log1p(change) : change < 0.5 ? std::log1p(-change) : std::log(k);
    }
};

// All three are roundings of the same pair's: that of `change`, or of k where that is below 1/2.
inline Ratio ratio_of(double k, double change, bool up) {
    if (k < 0.5) return {k, 1 - k, (1 - k) * (1 + k)};
    if (up) return {1 + change, change, change * (2 + change)};
    return {1 - change, change, change * (2 - change)};
}

// k without an error
inline Sum2 exact_k(const Ratio& r, bool up) {
    return r.k < 0.5 ? Sum2{r.k, 0} : two_sum(1, up ? r.change : -r.change);
}

struct Gain {
    double value, error;
    double slope = nan;  // dX/d log alpha, good to a few per cent or better; or NaN
    double score = nan, score_error = nan;  // X itself, from a difference: nearer than b + value
};

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

// X - b, where X was rounded outward, by about `moved`, and computed to `bound`
inline Gain difference(double x, double b, double moved, double bound, double slope = nan) {
    const double error = moved + bound + sum_error * (1 + std::fabs(x));
    return {x - moved - b, error + sum_error * std::fabs(b), slope, x - moved, error};
}

// The score under sigma1 of the ball of radius rho1, D in two doubles or found from rho1
inline Tail end_tail(double dim, Sum2 nc1, Sum2 rho1, Sum2 d1) {
    return tail_of(dim, nc1, value(rho1 * rho1), rho1, d1, true);
}
inline Sum2 end_excess(double dim, Sum2 nc1, Sum2 rho1) { return (rho1 * rho1 - nc1) + -dim; }

// log Gamma(z), z >= 1.5: Stirling's series from 10 on
inline double log_gamma(double z) {
    double product = 1;
    for (; z < 10; ++z) product *= z;
    static constexpr double c[] = {0.08333333333333333, -0.002777777777777778, 0.0007936507936507937,
                                   -0.0005952380952380953, 0.0008417508417508417, -0.0019175269175269176,
                                   0.00641025641025641};
    const double series = horner(c, 1 / (z * z)) / z;
    return ((z - 0.5) * std::log(z) - z) + (log_sqrt_2pi + series - std::log(product));
}

// A ball under sigma0 so small that P0 = (volume)(density at the centre): its radius follows from log P0. If
// it is small under sigma1 as well, log P changes by -N log k +- (s0^2 - s1^2)/2, and the score by that over
// the mean hazard on the way.
inline Gain tiny_gain(double b, double alpha, const Ratio& r, bool up, double dim, double s0) {
    const double sign = up ? -1 : 1, score = sign * b, half = 0.5 * s0 * alpha, log_k = r.log(up);
    const double log_p = log_ndtr(score), volume = log_gamma(0.5 * dim + 1), square = s0 * s0;
    const double log_rho1 = (log_p + 0.5 * square + volume) / dim + 0.5 * ln2 - log_k;
    if (!(log_rho1 + log_k < -300)) return {nan, nan};  // it is not tiny
    const double lost = tiny_error * (-log_p + half + dim * std::fabs(log_k));  // of log P1
    if (!(log_rho1 < -230)) {
        const double wide = (lost + tiny_error * (volume + 9 + square)) / dim;
        const Sum2 k = exact_k(r, up), rho1 = {std::exp(log_rho1 + sign * wide), 0};
        const Sum2 nc1 = two_prod(s0, s0) * (k * k);
        const Tail end = end_tail(dim, nc1, rho1, end_excess(dim, nc1, rho1));
        const double x = end.score(), steepness = (dim + 2 * end.beta) * end.density * over_normal(end, x);
        return difference(sign * x, b, steepness * wide, score_bound(0.5 * dim, x));
    }
    const double change = sign * half - dim * log_k;
    if (std::fabs(change) > -0.01 * log_p) {
        const double x = ndtri_exp(log_p + change), widest = ndtri_exp(log_p + change + sign * lost);
        const double rounding = score_error * (std::fabs(x) + std::fabs(score));
        return {std::fabs(x - score), std::fabs(widest - x) + rounding};
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
    const double volume = log_gamma(0.5 * dim + 1), rho = ball_offset(-score, dim, 0);
    const double log_rho = rho > 1e-140 ? std::log(rho) - 0.5 * ln2 : (log_ndtr(-score) + volume) / dim;
    return -ndtri_exp(dim * (log_rho - log_ratio) - volume - 0.5 * offset * offset);
}

// The quantile begins at `near`, and where it ends becomes `near`.
inline Gain gain(double b, double alpha, const Ratio& r, bool up, double dim, Start& near) {
    if (!(r.change > 0)) return {alpha, sum_error * alpha, alpha};
    if (!((r.k > 0 || r.log_k == r.log_k) && r.change2 < inf)) return {inf, 0};
    const double s0 = alpha / r.change2, sign = up ? -1 : 1;
    if (s0 >= half_space) {
        const double all = (alpha + sign * b * r.change) / r.k;
        return {all, half_space_error * (alpha + std::fabs(b) * r.change) / r.k, alpha / r.k};
    }
    // the ball's score is on the side of `sign`, so that its X is not below the worst set's
    const Sum2 nc0 = two_prod(s0, s0), half = {0.5 * nc0.hi, 0.5 * nc0.lo};
    const Quantile q = quantile({sign * b, 0}, 0.5 * dim, half, near, sign);
    near = {q.r, q.at.tau};
    const double rho0 = q.rho(), s1 = r.k * s0, k2 = r.k * r.k, lost = q.raised;
    if (rho0 < 1e-140) return tiny_gain(b, alpha, r, up, dim, s0);
    if (!(lost < inf)) return {nan, nan};
    const Sum2 k = exact_k(r, up), nc1 = nc0 * (k * k);
    // the end of the ball, rounded outward: in D where saddle_at goes by D, or from rho
    const Sum2 d0 = q.deep() ? end_excess(dim, nc0, q.rho_deep()) : q.excess_two();
    const double moved = dim * r.change2 + alpha * s0 * (1 + k2), sizes = std::fabs(d0.hi) + moved;
    Sum2 rho1 = {rho0 / r.k, 0}, d1 = (d0 + sign * (moved + end_error * sizes)) / k2;
    double rounding = end_error * sizes / (2 * rho0 * rho0);  // of log rho1
    if (!(r.k > 0.1 && d1.hi > -0.2 * (dim + nc1.hi) && rounding < end_error)) {
        rho1 = q.rho_two() / k;
        rho1.lo += sign * deep_error * rho1.hi;
        d1 = end_excess(dim, nc1, rho1), rounding = 0;
        d1.lo += sign * deep_error * (rho1.hi * rho1.hi + nc1.hi + dim);
    }
    const double u1 = rho1.hi - s1;
    Gain out;
    double amplified = 0;  // |dX/db - 1|
    if (u1 < half_space) {
        const Tail end = end_tail(dim, nc1, rho1, d1);
        const double x = end.score(), over = over_normal(end, x), far = dim + 2 * end.beta;
        const double steepness = far * end.density * over, growth = steepness / q.slope;  // dX/db
        // to first order the worst set stays the worst when alpha grows: the ball stands still
        const double slope =
            slope_along(end, over, q.mu, rho1.hi, s1, r.rate * rho1.hi, alpha / r.k - r.rate * s1);
        const double steep = 1 + std::fabs(b) + growth * (1 + std::fabs(x));
        amplified = std::fabs(growth - 1) + growth * (q.blur + step_error + 3 * lost * steep);
        out = difference(sign * x, b, growth * lost + steepness * rounding, score_bound(far - q.mu, x), slope);
    } else {  // a half-space
        out = difference(sign * u1, b, rho1.hi * lost / q.slope, score_error * u1, alpha / r.k);
    }
    const double c2 = q.mu + 2 * q.beta(), change = r.change / r.k;
    const double ds = alpha / (1 + r.k), drho = rho0 * change, size = out.value + out.error;
    const double span = std::fmax((drho + 2 * ds) / std::sqrt(c2), change);
    if (!(out.error > 2.5e-12 * out.value && span <= 0.1)) return out;
    // panels by what `analytic` asks for; the radii of the ellipses leave 4e-14 and 2e-13 of the gain
    const double least = std::fmax((c2 < 5 ? 30 : 8) * size * (1 + std::fabs(b)), 6 * change);
    const bool wide = 200 * least > 1;
    const double panels = wide ? std::ceil(3.6 * least) : 1;
    if (!(panels <= 256)) return out;
    // from the ball itself, for a slope without a step's error
    if (std::fabs(q.step) > 1e-9 * (1 + std::fabs(b))) return gain(b, alpha, r, up, dim, near);
    const double part = 1 / panels, across = 2 * (rho0 * drho + s0 * ds);
    bool sound = true;
    double total = 0, steady = inf;
    for (double i = 0; i < panels; ++i)
        total += part * mean_of(
            [&](double t) {
                const double v = sign * part * (i + t), rho = rho0 + v * drho, s = s0 - v * ds;
                const Sum2 d = d0 + (v * across + v * v * ((drho - ds) * (drho + ds)));
                const Tail at = tail_of(dim, two_prod(s, s), rho * rho, {rho, 0}, d, true);
                const double score = at.score();
                const double slope = slope_along(at, over_normal(at, score, 2), q.mu, rho, s, drho, ds);
                if (t != 0.5) return slope;
                // as far as it may be analytic, which bounds how dG/dlog rho changes beyond first order
                const double most = std::fmax((c2 < 5 ? 30 : 8) * slope * (1 + std::fabs(score)), 6 * change);
                const double reach = wide ? 3.6 : 1 / most;
                sound &= (wide || reach >= 200) &&
                         analytic(at, score, part * slope, q.mu, rho, s, part * drho, part * ds, reach);
                const double grown = rho * rho - dim - 2 * at.beta, ratio = rho * rho / (dim + 2 * at.beta);
                const double turn = ratio * (1 + at.drift / at.density) - 1;
                const double first = grown * (drho / rho) + s * turn * ds - score * slope;
                steady = 1.3 * (std::fabs(first) + 0.5 * drho / rho + 1e-6 * slope + 61 * most * most * most);
                return slope;
            },
            wide);
    if (!sound) return out;
    const double by_gain = wide ? (c2 < 5 ? 1500 : 110) * total * (1 + std::fabs(b)) : steady;
    const double moved_by_e = std::fmin(amplified, by_gain);
    return {total, slope_mean_error * total + moved_by_e * 2 * lost, total};
}

inline Gain gain(double b, double alpha, const Ratio& r, bool up, double dim) {
    Start cold;
    return gain(b, alpha, r, up, dim, cold);
}

}  // namespace rsb
