// Quantiles of the central chi-square law, nc = 0, where central.hpp or large_df.hpp
// has its tails: a point near the root, then steps in log x by five terms of the
// inverse series, mostly one. Derived in docs/theory/off-centre-ball.md, "Central
// quantiles".
//
// a = df/2 and y = x/2 as there. With p the small tail at y, P the one that is asked
// for, and phi = y f(y), the density of log y,
//   t = +-(P - p)/phi,  k = a - y,  phi' = k phi,  k' = -y,
// log y moves by t - k t^2/2 + ..., whose coefficients are polynomials in k and y.
//
// Error: that of the tail at the last point over the density, and two roundings of x.
// What the series leaves out is measured, not proved. Source: E. B. Wilson, M. M.
// Hilferty, Proc. Nat. Acad. Sci. 17 (1931) 684.
#pragma once

#include "small_df.hpp"

namespace rsb {

// The tails that are asked for. Each has its digits: neither is 1 less the other where
// it is small.
struct Goal {
    double lower, upper;
};

// The cube root of y/a is nearly normal. What its score lacks is a polynomial in z and
// 1/sqrt a, fitted for |z| < 4.5: then the tail there is within .8 % of the one that is
// asked for, from 10 degrees on mostly within .1 %.
inline double cube_root_score(double a, double z) {
    const double s = 1 / std::sqrt(a);
    const double w = std::fmax(-4.5, std::fmin(z, 4.5));
    const double v = w * w;
    const double third = fused(fused(6.6668e-4, v, 2.57211e-3), v, 1.41796e-2);
    const double second = w * fused(fused(-2.17873e-4, v, -5.96829e-3), v, -1.14906e-2);
    const double first = fused(fused(2.33666e-3, v, 1.362833e-2), v, -2.608244e-2);
    const double zeroth = w * fused(-9.629593e-3, v, 3.1198531e-2);
    const double rest = fused(fused(fused(third, s, second), s, first), s, zeroth);
    return fused(rest * s, s, z);
}

// A point y whose lower tail is near the one asked for. Far below the middle the tail
// is y^a/Gamma(a + 1) times 1 - a y/(a + 1) + ...; that takes whole degrees of freedom,
// and from `central_most` on it is never far below.
inline double central_start(double a, double z, double lower) {
    const double share = 1 / (9 * a);
    const double root = 1 - share + cube_root_score(a, z) * std::sqrt(share);
    if (root > 0.35 || a > 0.5 * central_most) return a * root * root * root;
    const double gamma = log_gamma_half(int(2 * a) + 2).hi;
    const double r = std::exp((std::log(lower) + gamma) / a);
    const double u = r / (a + 1);
    return r * (1 + u * (1 + u * (3 * a + 5) / (2 * (a + 2))));
}

struct LogStep {
    double by;
    bool last;
};

// What the series leaves out moves the score by .013 times the sixth power of the step's
// size (the largest of 900 points), here by less than 6e-17.
constexpr double last_step_size = 4e-3;

// from y, at which the tail is that one
inline LogStep central_step(SmallTail at, double a, double y, Goal goal) {
    const double wanted = at.upper ? goal.upper : goal.lower;
    const double gain = ((wanted - at.p.hi) - at.p.lo) / at.p.hi;
    const double over_density = at.upper ? -at.over_density : at.over_density;
    // the logarithm of either tail is concave in log y, so that Newton's steps come to
    // its root
    if (!(std::fabs(gain) < 0.1)) {
        const double newton = std::log1p(gain) * over_density;
        return {std::fmax(-1, std::fmin(newton, 1)), false};
    }
    const double d = gain * over_density;
    const double k = a - y;
    // the derivatives of the density of log y over it and over 2, 6, 24, 120
    const double c2 = k / 2;
    const double c3 = (k * k - y) / 6;
    const double c4 = (k * (k * k - 3 * y) - y) / 24;
    const double c5 = (k * k * (k * k - 6 * y) + y * (3 * y - 4 * k - 1)) / 120;
    const double square = c2 * c2;
    const double b3 = 2 * square - c3;
    const double b4 = 5 * c2 * (c3 - square) - c4;
    const double b5 =
        square * (14 * square - 21 * c3) + 6 * c2 * c4 + 3 * c3 * c3 - c5;
    const double by = d * (1 + d * (-c2 + d * (b3 + d * (b4 + d * b5))));
    const double size = std::fabs(d) * (1 + std::fabs(k) + std::sqrt(y));
    return {by, size < last_step_size};
}

// From y, with the small tail at x; NaN where there is none, or x is far from 1.
template <class F>
double central_search(double a, double y, Goal goal, F small_tail_at) {
    double x = 2 * y;
    for (int i = 0; i < 60 && x > 1e-290 && x < 1e290; ++i) {
        const LogStep step = central_step(small_tail_at(x), a, 0.5 * x, goal);
        const double by = step.by;
        if (step.last)
            return x + x * (by * (1 + by / 2 * (1 + by / 3 * (1 + by / 4))));
        x *= std::exp(by);
    }
    return nan;
}

// NaN where it doesn't serve: the score is z.
inline double central_quantile(double z, Goal goal, double df, double nc) {
    const double a = 0.5 * df;
    if (central_law(df, nc) && std::fmin(goal.lower, goal.upper) > 1e-290)
        return central_search(
            a, central_start(a, z, goal.lower), goal,
            [=](double x) { return CentralTail({x, 0}, df).small_tail(); });
    if (uniform_law(df, nc) && df <= most_df && std::fabs(z) < uniform_reach - 0.1)
        return central_search(
            a, central_start(a, z, goal.lower), goal, [=](double x) {
                const UniformExponent at({x, 0}, ncx2_excess(x, df, 0), df);
                return at.near() ? UniformTail(at).small_tail()
                                 : SmallTail{false, {nan, 0}, nan};
            });
    return nan;
}

}  // namespace rsb
