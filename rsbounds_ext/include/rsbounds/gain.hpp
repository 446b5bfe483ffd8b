// The two-point gain: how far the step from noise sigma0 to sigma1 moves the score of the worst set.
// Derived, error bound included, in docs/theory/two-point.md; [S] is Sukenik, Kuvshinov,
// Guennemann, Intriguing properties of input-dependent randomized smoothing, ICML 2022.
//
// x0 is smoothed with sigma0 and a point at distance a with sigma1 = k sigma0. In units of sigma0
// (alpha = a/sigma0) the worst case over all sets of P0-score b is a ball (k < 1) or the
// complement of one (k > 1), [S] Theorem 2, and its P1-score is X with
//   k < 1: s0 = alpha/(1 - k^2), G(s0, u0) =  b, X =  G(k s0, (u0 + alpha)/k)
//   k > 1: s0 = alpha/(k^2 - 1), G(s0, u0) = -b, X = -G(k s0, (u0 - alpha)/k)
// X - b is the gain: G at one point minus G at another, (ds, du) apart with
//   du = +-(u0 |1 - k| + alpha)/k, ds = -+alpha/(1 + k).
// Three ways to it, each with its own `error`:
//   difference   X - b. An error e of b's ball reaches X as e dX/db, dX/db the quotient of the two
//                slopes dG/dlog rho, up to hazard(b)/hazard(X) > 1 for a ball that grows.
//   integral     where the difference would lose digits: Gauss-Legendre nodes on the segment of
//                G_u du + G_s ds, three for a segment shorter than 0.01 sqrt(c2), five up to
//                0.1 sqrt(c2), as G varies on the scale sqrt(c2).
//   tiny balls   radius and probability in logarithms, where they underflow.
#pragma once

#include "quantile.hpp"

namespace rsb {

struct Ratio {
    double k, change, change2;  // sigma1/sigma0, |k - 1|, |k^2 - 1|, each to a few ulp
    double log_k = nan;         // given where k may underflow
    double log(bool up) const {
        if (log_k == log_k) return log_k;
        return up ? std::log1p(change) : change < 0.5 ? std::log1p(-change) : std::log(k);
    }
};

struct Gain {
    double value, error;
    double score = nan, score_error = nan;  // X, where the gain is X - b: nearer than b + value
};

// The hazard 1/M(z) to within a third, z > -0.6.
inline double rough_hazard(double z) { return 0.5 * (z + std::sqrt(z * z + 3)); }

// dG/dlog rho of a ball of score z, from the nodes of its contour
inline double log_slope(double mu, double beta, double density, double tail, bool upper, double z) {
    return 2 * (mu + beta) * density / (tail * rough_hazard(upper ? z : -z));
}

// dG along (drho, -ds) at (s, rho): two terms of one sign
RSB_CLONES
inline double score_slope(double u, double rho, double dim, double s, double drho, double ds) {
    const Sum2 excess = ball_excess(u, rho, dim, s);
    const Saddle p = saddle_at(dim, two_prod(s, s), rho * rho, ball_rho(u, rho, s), excess);
    const Tail t = tail_at(p, contour(p.mu, p.beta, p.c2, p.tau, p.root, excess.hi));
    const double z = std::fabs(t.score());
    // e^phi0 over the normal density at z
    const double scale =
        z > 1 ? mills(z) / t.total() : sqrt_2pi * std::exp(0.5 * z * z + p.phi0.hi);
    const double growth = std::sqrt(2 * (p.mu + p.beta)) / p.root;
    return scale * (growth * t.density * drho + s * (t.density + t.drift) * ds);
}

// Mean of f over [0, 1]: Gauss-Legendre, 3 nodes or 5.
template <class F>
double mean_of(F f, bool wide) {
    if (!wide) return (5 * f(0.1127016653792583) + 8 * f(0.5) + 5 * f(0.8872983346207417)) / 18;
    return 0.11846344252809454 * (f(0.046910077030668) + f(0.953089922969332)) +
           0.23931433524968324 * (f(0.23076534494715845) + f(0.7692346550528415)) +
           0.28444444444444444 * f(0.5);
}

// X - b, X from a ball whose error `moved` it
inline Gain difference(double x, double b, double moved) {
    const double error = moved + 4e-15 * (1 + std::fabs(x));
    return {x - b, error + 3e-16 * std::fabs(b), x, error};
}

// A ball under sigma0 so small that P0 = (volume) x (density at the centre), so that its radius
// follows from log P0. If it is small under sigma1 as well, the change of log P is
// -N log k +- (s0^2 - s1^2)/2, and that of the score follows from the hazard.
inline Gain tiny_gain(double b, double alpha, const Ratio& r, bool up, double dim, double s0) {
    const double score = up ? -b : b, half = 0.5 * s0 * alpha, log_k = r.log(up);
    const double log_p = log_ndtr(score), volume = std::lgamma(0.5 * dim + 1);
    const double log_rho1 = (log_p + 0.5 * s0 * s0 + volume) / dim + 0.5 * ln2 - log_k;
    const double lost = 2e-15 * (-log_p + half + dim * std::fabs(log_k));  // of log P1
    if (!(log_rho1 < -230)) {
        const double rho1 = std::exp(log_rho1), s1 = r.k * s0, mu = 0.5 * dim;
        const Tail end = ball_tail(rho1 - s1, rho1, dim, s1);
        const double x = end.score();
        const double slope = log_slope(mu, end.beta, end.density, end.total(), end.upper, x);
        const double moved = (lost + 2e-15 * (volume + s0 * s0)) / dim + 1e-15;
        return difference(up ? -x : x, b, 1.5 * slope * moved);
    }
    const double change = (up ? -half : half) - dim * log_k;
    if (std::fabs(change) > -0.01 * log_p) {
        const double x = ndtri_exp(log_p + change);
        return {std::fabs(x - score), 4e-15 * (std::fabs(x) - score) - lost / x};
    }
    double g = 0;
    for (int i = 0; i < 8; ++i)
        g = change / mean_of([=](double t) { return 1 / mills(-score - t * g); }, false);
    return {std::fabs(g), 1e-13 * std::fabs(g)};
}

inline Gain gain(double b, double alpha, const Ratio& r, bool up, double dim) {
    if (!(r.change > 0)) return {alpha, 3e-16 * alpha};
    if (!((r.k > 0 || r.log_k == r.log_k) && r.change2 < inf)) return {inf, 0};
    const double s0 = alpha / r.change2;
    if (s0 >= half_space) {
        const double all = (alpha + (up ? -b : b) * r.change) / r.k;
        return {all, 2e-15 * (alpha + std::fabs(b) * r.change) / r.k};
    }
    const Quantile q = quantile(up ? -b : b, 0.5 * dim, 0.5 * s0 * s0);
    const Ball ball = ball_of(q, s0);
    if (ball.rho < 1e-140) return tiny_gain(b, alpha, r, up, dim, s0);
    const double u0 = ball.u, sign = up ? -1 : 1;
    const double du = (u0 * r.change + alpha) / r.k, ds = alpha / (1 + r.k);
    const double s1 = r.k * s0, rho1 = ball.rho / r.k;
    const double u1 = ball.rho < 0.5 * s0 ? rho1 - s1 : (u0 + sign * alpha) / r.k;
    const double c2 = std::sqrt(0.25 * dim * dim + (s0 * ball.rho) * (s0 * ball.rho));
    const double span = std::fmax((du + ds) / std::sqrt(c2), r.change / r.k);
    const double place = std::fmin(std::fabs(u0) / r.k + std::fabs(u1), rho1);
    const double lost = 4e-15 * (1 + std::fabs(b));
    if (lost + 4e-15 * place > 2.5e-12 * alpha && span <= 0.1) {
        const double drho = ball.rho * (r.change / r.k);
        const auto slope = [=](double t) {
            const double v = sign * t;
            return score_slope(u0 + v * du, ball.rho + v * drho, dim, s0 - v * ds, drho, ds);
        };
        const double total = mean_of(slope, span > 0.01);
        return {total, 5e-13 * total};
    }
    const double slope0 =
        log_slope(q.mu, q.beta(), q.density, q.tail, q.at.tau >= 0, up ? -b : b);
    double x = u1, slope1 = u1;  // of a half-space, or
    if (u1 < half_space) {
        const Tail end = ball_tail(u1, rho1, dim, s1);
        x = end.score();
        slope1 = log_slope(q.mu, end.beta, end.density, end.total(), end.upper, x);
    }
    return difference(up ? -x : x, b, 1.5 * slope1 * (lost / slope0 + 8e-16 * (place / rho1)));
}

}  // namespace rsb
