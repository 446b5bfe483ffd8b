// The two-point gain: how far the step from noise sigma0 to sigma1 moves the score of
// the worst set. Derived, error bound included, in docs/theory/two-point.md ("Gains",
// "The error bound of a gain").
//
// x0 is smoothed with sigma0, a point at distance a from it with sigma1 = k sigma0. In
// units of sigma0 (alpha = a/sigma0) the worst of all sets of P0-score b is a ball (k <
// 1) or the complement of one (k > 1), [S] Theorem 2. G is the score of ball.hpp; the
// worst set's P1-score is X:
//   k < 1: s0 = alpha/(1 - k^2), G(s0, u0) =  b, X =  G(k s0, (u0 + alpha)/k)
//   k > 1: s0 = alpha/(k^2 - 1), G(s0, u0) = -b, X = -G(k s0, (u0 - alpha)/k)
// and X - b is the gain. `gain`, at the end of this file, chooses between
//   half_space_gain     where the ball is a half-space;
//   tiny_gain           where the ball's radius underflows;
//   gain_by_difference  X - b of a ball that has at least the budget's P0, its end
//                       carried over (`carried_end`) and rounded outward;
//   gain_by_panels      where that has lost its digits: Gauss-Legendre nodes on the
//                       segment from the ball to its end.
// Each has its own `error`, and value + error bounds the gain. tests/attacks/gain_attack.cpp
// searches for errors beyond the bound: .30 of it was the largest.
//
// Source: [S] Sukenik, Kuvshinov, Günnemann, Intriguing properties of input-dependent
// randomized smoothing, ICML 2022.
#pragma once

#include <optional>

#include "quantile.hpp"

namespace rsb {

// Bounds of errors, each proved as docs/theory/proofs.md says
constexpr double distance_error = 2e-15;     // of a distance
constexpr double ratio_error = 5e-16;        // of a noise level
constexpr double sum_error = 3e-16;          // of a subtraction of scores
constexpr double end_error = 1.4e-15;        // of an end carried over
constexpr double deep_error = 2e-30;         // of one carried over in two doubles
constexpr double half_space_error = 2e-15;   // of the gain of a half-space
constexpr double tiny_error = 6e-15;         // of log P of a tiny ball
constexpr double hazard_mean_error = 1e-13;  // of the mean hazard of tiny balls
constexpr double slope_mean_error = 5e-13;   // of the mean slope over panels

struct Ratio {
    double k, change, change2;  // sigma1/sigma0, |k - 1|, |k^2 - 1|
    double rate = 0;     // |d log k|/d log alpha as alpha grows: for the slope alone
    double log_k = nan;  // log k, for a k that may underflow
    double log(bool up) const {
        if (log_k == log_k) return log_k;
        if (up) return std::log1p(change);
        return change < 0.5 ? std::log1p(-change) : std::log(k);
    }
};

// All three are roundings of the same pair's: that of `change`, or of k where that is
// below 1/2.
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
    double score = nan;  // X itself, from a difference: nearer than b + value
    double score_error = nan;
};

// What a gain is asked for, in units of sigma0.
struct Pair {
    double b, alpha;  // the budget's score, the distance
    const Ratio& ratio;
    bool up;  // sigma1 > sigma0: the worst set is the complement of a ball
    double dim;
    double s0;    // from x0 to the ball's centre
    double sign;  // 1, or -1 for a complement, whose score is minus the ball's
};

// Mean of f over [0, 1]: Gauss-Legendre, 3 nodes or 9, the middle among them.
template <class F>
double mean_of(F f, bool nine) {
    if (!nine) {
        const double sum =
            5 * f(0.1127016653792583) + 8 * f(0.5) + 5 * f(0.8872983346207417);
        return sum / 18;
    }
    static constexpr double node[] = {
        0.015919880246186957, 0.08198444633668212, 0.19331428364970482,
        0.33787328829809554};
    static constexpr double weight[] = {
        0.04063719418078721, 0.09032408034742870, 0.13030534820146773,
        0.15617353852000142};
    double mean = 0.16511967750062989 * f(0.5);
    for (int i = 0; i < 4; ++i) mean += weight[i] * (f(node[i]) + f(1 - node[i]));
    return mean;
}

// --- half-spaces and tiny balls ---

// Beyond half_space a ball is a half-space to double precision, and the quantile's
// coordinates would overflow.
RSB_RARE Gain half_space_gain(Pair pair) {
    const Ratio& r = pair.ratio;
    const double gain = (pair.alpha + pair.sign * pair.b * r.change) / r.k;
    const double sizes = pair.alpha + std::fabs(pair.b) * r.change;
    return {gain, half_space_error * sizes / r.k, pair.alpha / r.k};
}

// X - b, where X was rounded outward, by about `moved`, and computed to `bound`. The
// value is less than that by `moved` and the error greater, so that nothing rests on
// `moved`.
inline Gain difference(double x, double b, double moved, double bound,
                       double slope = nan) {
    const double score = x - moved;
    const double score_error = moved + bound + sum_error * (1 + std::fabs(x));
    return {score - b, score_error + sum_error * std::fabs(b), slope, score,
            score_error};
}

// The score under sigma1 of the ball of radius rho1, D in two doubles or found from
// rho1
inline Tail end_tail(double dim, Sum2 nc1, Sum2 rho1, Sum2 d1) {
    return tail_of(dim, nc1, value(rho1 * rho1), rho1, d1, true);
}
inline Sum2 end_excess(double dim, Sum2 nc1, Sum2 rho1) {
    return (rho1 * rho1 - nc1) + -dim;
}

// log Gamma(z), z >= 1.5: Stirling's series from 10 on
inline double log_gamma(double z) {
    double product = 1;
    for (; z < 10; ++z) product *= z;
    static constexpr double c[] = {
        0.08333333333333333, -0.002777777777777778, 0.0007936507936507937,
        -0.0005952380952380953, 0.0008417508417508417, -0.0019175269175269176,
        0.00641025641025641};
    const double series = horner(c, 1 / (z * z)) / z;
    return ((z - 0.5) * std::log(z) - z) + (log_sqrt_2pi + series - std::log(product));
}

// A ball under sigma0 so small that P0 = (volume)(density at the centre): its radius
// follows from log P0 where it underflows itself. NaN where the ball is not tiny after
// all.
RSB_RARE Gain tiny_gain(Pair pair) {
    const Ratio& r = pair.ratio;
    const double dim = pair.dim;
    const double score = pair.sign * pair.b;
    const double log_k = r.log(pair.up);
    const double centre_change = 0.5 * pair.s0 * pair.alpha;  // |s0^2 - s1^2|/2
    const double square = pair.s0 * pair.s0;
    const double log_p = log_ndtr(score);
    const double volume = log_gamma(0.5 * dim + 1);
    const double log_rho1 = (log_p + 0.5 * square + volume) / dim + 0.5 * ln2 - log_k;
    if (!(log_rho1 + log_k < -300)) return {nan, nan};
    const double log_p_error =
        tiny_error * (-log_p + centre_change + dim * std::fabs(log_k));

    // Under sigma1 it may be an ordinary ball: its score then is that of any other.
    if (!(log_rho1 < -230)) {
        const double log_rho_error =
            (log_p_error + tiny_error * (volume + 9 + square)) / dim;
        const Sum2 rho1 = {std::exp(log_rho1 + pair.sign * log_rho_error), 0};
        const Sum2 k = exact_k(r, pair.up);
        const Sum2 nc1 = two_prod(pair.s0, pair.s0) * (k * k);
        const Tail end = end_tail(dim, nc1, rho1, end_excess(dim, nc1, rho1));
        const double x = end.score();
        const double steepness =
            (dim + 2 * end.beta) * end.density * over_normal(end, x);
        const double bound = score_bound(0.5 * dim, x);
        return difference(pair.sign * x, pair.b, steepness * log_rho_error, bound);
    }

    // Else log P changes by -N log k +- (s0^2 - s1^2)/2, two terms of one sign.
    const double change = pair.sign * centre_change - dim * log_k;
    if (std::fabs(change) > -0.01 * log_p) {
        const double x = ndtri_exp(log_p + change);
        const double widest = ndtri_exp(log_p + change + pair.sign * log_p_error);
        const double rounding = score_error * (std::fabs(x) + std::fabs(score));
        return {std::fabs(x - score), std::fabs(widest - x) + rounding};
    }
    // Both scores would round alike where it is small beside log P. So the score moves
    // by that over the mean hazard on the way, a fixed point that contracts by .003 a
    // step.
    double move = 0;
    for (int i = 0; i < 8; ++i) {
        const auto hazard = [=](double t) { return 1 / mills(-score - t * move); };
        move = change / mean_of(hazard, false);
    }
    return {std::fabs(move), hazard_mean_error * std::fabs(move)};
}

// X for sigma1 so far above sigma0 that k underflows: the ball is tiny under sigma1 as
// well, so its volume and the density at its centre, `offset` in units of sigma1, give
// its probability.
inline double remote_score(double offset, double score, double log_ratio, double dim) {
    if (offset >= half_space) return offset;
    const double volume = log_gamma(0.5 * dim + 1);
    const double rho = ball_offset(-score, dim, 0);
    const double log_rho =
        rho > 1e-140 ? std::log(rho) - 0.5 * ln2 : (log_ndtr(-score) + volume) / dim;
    return -ndtri_exp(dim * (log_rho - log_ratio) - volume - 0.5 * offset * offset);
}

// --- the difference of two scores ---

// The budget's ball as x1 sees it, in units of sigma1.
struct CarriedEnd {
    Sum2 nc, rho, excess;  // s1^2, rho1, D1
    double rounding;       // by how much of log rho1 D1 was moved outward
};

// rho0 and D0 of the ball, rounded outward on the way: rho1 = rho0/k, s1 = k s0, and
// k^2 D1 = D0 +- (N |k^2 - 1| + alpha s0 (1 + k^2)).
RSB_INLINE CarriedEnd carried_end(const Pair& pair, const Quantile& ball, Sum2 nc0,
                                  double rho0, Sum2 d0) {
    const Ratio& r = pair.ratio;
    const double k2 = r.k * r.k;
    const Sum2 k = exact_k(r, pair.up);
    const double moved = pair.dim * r.change2 + pair.alpha * pair.s0 * (1 + k2);
    const double sizes = std::fabs(d0.hi) + moved;
    CarriedEnd end;
    end.nc = nc0 * (k * k);
    end.rho = {rho0 / r.k, 0};
    end.excess = (d0 + pair.sign * (moved + end_error * sizes)) / k2;
    end.rounding = end_error * sizes / (2 * rho0 * rho0);
    // Far down the lower tail saddle_at goes by rho and not by D; a small k magnifies
    // what D0 is off by; and D may round more than rho. There rho1 is carried over in
    // two doubles, and D1 follows from it.
    const bool by_excess = r.k > 0.1 && end.excess.hi > -0.2 * (pair.dim + end.nc.hi) &&
                           end.rounding < end_error;
    if (by_excess) return end;
    end.rho = ball.rho_two() / k;
    end.rho.lo += pair.sign * deep_error * end.rho.hi;
    end.excess = end_excess(pair.dim, end.nc, end.rho);
    const double squares = end.rho.hi * end.rho.hi + end.nc.hi + pair.dim;
    end.excess.lo += pair.sign * deep_error * squares;
    end.rounding = 0;
    return end;
}

// dG along (drho, -ds) at (s, rho), two terms of one sign; `over` is over_normal there
inline double slope_along(const Tail& t, double over, double mu, double rho, double s,
                          double drho, double ds) {
    const double growth = 2 * (mu + t.beta) / rho;
    return over * (growth * t.density * drho + s * (t.density + t.drift) * ds);
}

struct Difference {
    Gain gain;
    double amplified;  // |dX/db - 1|, at most
};

// X - b. What the ball has too much, `raised`, reaches X times dX/db, the quotient of
// the two slopes dG/dlog rho: up to hazard(b)/hazard(X), above 1 for a set that grows.
RSB_INLINE Difference gain_by_difference(const Pair& pair, const Quantile& ball,
                                         const CarriedEnd& end) {
    const Ratio& r = pair.ratio;
    const double rho1 = end.rho.hi;
    const double s1 = r.k * pair.s0;
    const double u1 = rho1 - s1;
    if (!(u1 < half_space)) {  // the end is a half-space, of score u1
        const double moved = rho1 * ball.raised / ball.slope;
        const double bound = score_error * u1;
        return {difference(pair.sign * u1, pair.b, moved, bound, pair.alpha / r.k), 0};
    }
    const Tail tail = end_tail(pair.dim, end.nc, end.rho, end.excess);
    const double x = tail.score();
    const double over = over_normal(tail, x);
    const double far = pair.dim + 2 * tail.beta;
    const double steepness = far * tail.density * over;  // dG/dlog rho at the end
    const double growth = steepness / ball.slope;        // dX/db
    // to first order the worst set stays the worst when alpha grows: the ball stands
    // still
    const double drho = r.rate * rho1;
    const double ds = pair.alpha / r.k - r.rate * s1;
    const double slope = slope_along(tail, over, ball.mu, rho1, s1, drho, ds);
    // dX/db at any budget between b and the ball's own, docs/theory/two-point.md
    const double steep = 1 + std::fabs(pair.b) + growth * (1 + std::fabs(x));
    const double amplified = std::fabs(growth - 1) + growth * (ball.blur + step_error +
                                                               3 * ball.raised * steep);
    const double moved = growth * ball.raised + steepness * end.rounding;
    const double bound = score_bound(far - ball.mu, x);
    return {difference(pair.sign * x, pair.b, moved, bound, slope), amplified};
}

// --- the integral of the slope ---

// From the ball to its end (rho0 -> rho1, s0 -> s1), in units of sigma0; the lengths
// are those of a step in rho and, the other way, in s.
struct Segment {
    double c2;               // at the ball
    double relative_change;  // |k - 1|/k
    double drho, ds;
    double span;  // its length beside what dG changes over
};
RSB_INLINE Segment segment_of(const Pair& pair, const Quantile& ball, double rho0) {
    const Ratio& r = pair.ratio;
    Segment segment;
    segment.c2 = ball.mu + 2 * ball.beta();
    segment.relative_change = r.change / r.k;
    segment.drho = rho0 * segment.relative_change;
    segment.ds = pair.alpha / (1 + r.k);
    segment.span = std::fmax((segment.drho + 2 * segment.ds) / std::sqrt(segment.c2),
                             segment.relative_change);
    return segment;
}

// One over the largest `reach` that `analytic` allows, about, where dG along the whole
// segment is `slope` at the score z.
RSB_INLINE double inverse_reach_at(const Segment& segment, double slope, double z) {
    const double by_slope = (segment.c2 < 5 ? 30 : 8) * slope * (1 + std::fabs(z));
    return std::fmax(by_slope, 6 * segment.relative_change);
}

// Whether dG along a panel, of length drho and ds with the tail t in its middle, is
// analytic within `reach` half lengths of the middle, and at most 27.5 of its value
// there (docs/theory/saddle.md, "Short segments").
inline bool analytic(const Tail& t, double score, double slope, double mu, double rho,
                     double s, double drho, double ds, double reach) {
    const double c2 = mu + 2 * t.beta;
    const double root = std::sqrt(c2);
    const double ratio = rho * rho / (mu + c2);
    const double half = 0.5 * reach;
    const double y = half * drho * rho / ratio;
    const double h = half * ds * s;
    return half * drho <= 0.1 * rho && half * ds <= 0.1 * s &&
           y + h * ratio <= 0.23 * root && std::fabs(ratio - 1) * (y + h) <= 0.47 &&
           std::fmin(t.density, t.density + t.drift) * root >= 0.3 &&
           (c2 < 5 ? 15 : 4) * half * slope * (1 + std::fabs(score)) <= 0.3;
}

// How much dX/db may differ from 1 after one panel, by what its middle says of dG/dlog
// rho: the first order there, and what `reach` half lengths leave for the odd orders
// beyond.
inline double drift_over_panel(const Segment& segment, double dim, const Tail& t,
                               double score, double slope, double rho, double s,
                               double inverse_reach) {
    const double grown = rho * rho - dim - 2 * t.beta;
    const double ratio = rho * rho / (dim + 2 * t.beta);
    const double turn = ratio * (1 + t.drift / t.density) - 1;
    const double first =
        grown * (segment.drho / rho) + s * turn * segment.ds - score * slope;
    const double third = 61 * inverse_reach * inverse_reach * inverse_reach;
    return 1.3 * (std::fabs(first) + 0.5 * segment.drho / rho + 1e-6 * slope + third);
}

// The mean of dG along the segment, in panels so short that G is analytic about each;
// nothing where one is not. The radii of the ellipses leave 4e-14 of the gain with one
// panel of three nodes, 2e-13 with panels of nine.
RSB_RARE std::optional<Gain> gain_by_panels(Pair pair, Quantile ball,
                                            const Segment& segment, double rho0,
                                            Sum2 d0, double panels, bool nine,
                                            double amplified) {
    const double drho = segment.drho;
    const double ds = segment.ds;
    const double part = 1 / panels;
    const double across = 2 * (rho0 * drho + pair.s0 * ds);  // of D, to first order
    bool sound = true;
    double total = 0;
    double drifted = inf;
    for (double i = 0; i < panels; ++i) {
        const auto slope_at = [&](double t) {
            const double v = pair.sign * part * (i + t);
            const double rho = rho0 + v * drho;
            const double s = pair.s0 - v * ds;
            const Sum2 d = d0 + (v * across + v * v * ((drho - ds) * (drho + ds)));
            const Tail at =
                tail_of(pair.dim, two_prod(s, s), rho * rho, {rho, 0}, d, true);
            const double score = at.score();
            const double slope =
                slope_along(at, over_normal(at, score, 2), ball.mu, rho, s, drho, ds);
            if (t != 0.5) return slope;
            // The middle is where the proof asks its questions. One panel of three
            // nodes goes as far as it may, which also bounds how dG/dlog rho changes
            // along it.
            const double inverse_reach = inverse_reach_at(segment, slope, score);
            const double reach = nine ? 3.6 : 1 / inverse_reach;
            sound &= (nine || reach >= 200) &&
                     analytic(at, score, part * slope, ball.mu, rho, s, part * drho,
                              part * ds, reach);
            drifted = drift_over_panel(segment, pair.dim, at, score, slope, rho, s,
                                       inverse_reach);
            return slope;
        };
        total += part * mean_of(slope_at, nine);
    }
    if (!sound) return std::nullopt;
    // The ball's excess over the budget moves the gain by dX/db - 1, which two bounds
    // hold.
    const double by_gain =
        (segment.c2 < 5 ? 1500 : 110) * total * (1 + std::fabs(pair.b));
    const double moved = std::fmin(amplified, nine ? by_gain : drifted);
    return Gain{total, slope_mean_error * total + moved * 2 * ball.raised, total};
}

// --- the choice ---

// The quantile begins at `near`, and where it ends becomes `near`.
inline Gain gain(double b, double alpha, const Ratio& r, bool up, double dim,
                 Start& near) {
    // one noise level: every set moves by alpha
    if (!(r.change > 0)) return {alpha, sum_error * alpha, alpha};
    // k is 0 or k^2 infinite: nothing is known, so nothing is certified
    if (!((r.k > 0 || r.log_k == r.log_k) && r.change2 < inf)) return {inf, 0};
    const Pair pair{b, alpha, r, up, dim, alpha / r.change2, up ? -1.0 : 1.0};
    if (pair.s0 >= half_space) return half_space_gain(pair);

    // the ball's score is on the side of `sign`, so that its X is not below the worst
    // set's
    const Sum2 nc0 = two_prod(pair.s0, pair.s0);
    const Sum2 half = {0.5 * nc0.hi, 0.5 * nc0.lo};
    const Quantile ball =
        quantile({pair.sign * b, 0}, 0.5 * dim, half, near, pair.sign);
    near = {ball.r, ball.at.tau};
    const double rho0 = ball.rho();
    if (rho0 < 1e-140) return tiny_gain(pair);
    // the solve did not say on which side of the budget it ended
    if (!(ball.raised < inf)) return {nan, nan};
    // from rho where saddle_at goes by it, as D would cancel there
    const Sum2 d0 =
        ball.deep() ? end_excess(dim, nc0, ball.rho_deep()) : ball.excess_two();
    const CarriedEnd end = carried_end(pair, ball, nc0, rho0, d0);
    const Difference by_difference = gain_by_difference(pair, ball, end);

    // Nodes only where the difference has lost its digits, on a short segment.
    const Segment segment = segment_of(pair, ball, rho0);
    const bool lost = by_difference.gain.error > 2.5e-12 * by_difference.gain.value;
    if (!(lost && segment.span <= 0.1)) return by_difference.gain;
    const double inverse_reach = inverse_reach_at(
        segment, by_difference.gain.value + by_difference.gain.error, b);
    const bool nine = 200 * inverse_reach > 1;
    const double panels = nine ? std::ceil(3.6 * inverse_reach) : 1;
    if (!(panels <= 256)) return by_difference.gain;
    // A long last step leaves the ball's slope with an error that a small gain would
    // show: solve again, beginning at the ball itself.
    if (std::fabs(ball.step) > 1e-9 * (1 + std::fabs(b)))
        return gain(b, alpha, r, up, dim, near);
    const std::optional<Gain> by_panels = gain_by_panels(
        pair, ball, segment, rho0, d0, panels, nine, by_difference.amplified);
    return by_panels ? *by_panels : by_difference.gain;
}

inline Gain gain(double b, double alpha, const Ratio& r, bool up, double dim) {
    Start cold;
    return gain(b, alpha, r, up, dim, cold);
}

}  // namespace rsb
