// Marcum's Q: Q_m(a, b) = P(|Z| > b) for Z ~ N(a e1, I) in 2m dimensions, m > 0 real.
// That is the upper tail of the noncentral chi-square law with 2m degrees of freedom
// and noncentrality a^2, at b^2.
//
// Both squares enter exactly, in two doubles, because rounding them would cost 1e-16
// b^2/sqrt(m + a^2) normal scores. So the errors are those of the tails in ball.hpp
// and, for m < 1/2, in small_df.hpp. Derived in docs/theory/off-centre-ball.md and
// docs/theory/small-df.md. Source: J. I. Marcum, A statistical theory of target
// detection by pulsed radar, IRE Trans. Inf. Theory 6 (1960) 59.
#pragma once

#include "small_df.hpp"

namespace rsb {

inline bool marcum_domain(double m, double a) {
    return m >= 0.5 * least_df && m <= 0.5 * most_df && a >= 0 && a <= 1e30;
}

template <class F>
double with_marcum_tail(double m, double a, double b, F f) {
    const Sum2 nc = two_prod(a, a);
    const Sum2 x = two_prod(b, b);
    const bool normal = x.hi > 1e-280;  // so that x has its digits
    if (central_law(2 * m, a) && normal) return f(CentralTail(x, 2 * m));
    if (uniform_law(2 * m, a)) {
        const UniformExponent at(x, square_excess(b, 2 * m, 0), 2 * m);
        if (at.near()) return f(UniformTail(at));
    }
    if (!(m < 0.5 && nc.hi * x.hi < 64))
        return f(tail_of(2 * m, nc, x.hi, {b, 0}, square_excess(b, 2 * m, a)));
    const Sum2 l = log_two(b);
    return f(Mixture(m, {0.5 * nc.hi, 0.5 * nc.lo}, {0.5 * x.hi, 0.5 * x.lo},
                     {2 * l.hi, 2 * l.lo}, std::pow(b, 2 * m) * std::exp2(-m)));
}

// The radius b at which P(|Z| <= b) has the score z.
inline double marcum_radius(double z, double m, double a) {
    if (!(marcum_domain(m, a) && z == z)) return nan;
    if (m < 0.5 && !far_from_zero(z, a * a)) {
        const double log_q = log_ndtr(-z);
        const double far = a + normal_reach(log_q);
        if (far >= half_space) return far;
        return small_quantile(
            log_ndtr(z), log_q, (far + 2) * (1 + 1e-15), 2 * m,
            [=](double b, auto f) { return with_marcum_tail(m, a, b, f); });
    }
    if (std::fabs(z) == inf) return z < 0 ? 0 : inf;
    const Ball ball = ball_at(z, 2 * m, a);
    return a <= 0.5 * ball.rho ? ball.rho : a + ball.u;  // the one with more digits
}

}  // namespace rsb
