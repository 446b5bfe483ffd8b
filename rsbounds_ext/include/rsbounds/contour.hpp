// The Bromwich integral behind the tails of a noncentral chi-square law, by quadrature on a
// parabola. Symbols as in ball.hpp; derived in docs/theory/off-centre-ball.md.
//
// On the parabola 1 - theta' = (1 - iq)^2/(1 + tau), q real, the integral is
//   P(X > x) e^{-phi0} = (2/pi) int_0^inf E [(tau - v) cos T - q (2 + tau + v) sin T]
//                                          / ((tau + v)^2 + 4 v) dq,       v = q^2,
//   log E = -[mu (log1p v + v) + beta v (1 + (3 + v)/(1 + v)^2)],
//   T     = 2 [mu (q - atan q) + beta q v (2 + v)/(1 + v)^2],
//   density of Y: e^{phi0}/(1 + tau) (2/pi) int_0^inf E (cos T - q sin T) dq,
//   and its mean of 1/g - 1, g = (1 - iq)^2: E [(2 + v) q sin T - v cos T]/(1 + v)
// (for tau < 0 the integral is minus the lower tail). The parabola is the path of steepest
// descent to second order and winds round the branch cut, so E decays like exp(-(mu + beta) q^2)
// at every N > 0: one formula serves all dimensions. log E and T are sums of terms of one sign.
//
// Quadrature: midpoint rule of step hq. On the shifted line Im q = -c (0 < c < 1) the integrand
// is at most exp(mu A + beta B), B = (1/(1-c) - (1-c))^2 and A <= B/2, so with
//   hq = 2 pi c/(a + c2 B/2),  a = 38 (`aliasing`)
// the discretisation error is below e^-a of the integral's own scale; c = k/(k + r) with
// r = sqrt c2 + .3, k = 4.47 (`line`) is within a few per cent of the best choice. The pole q = i kappa,
// kappa = sqrt(1 + tau) - 1, adds e^{-phi0 - e}/(1 + e^-e), e = 2 pi |kappa|/hq, exactly when it
// lies nearer the axis than the line on which the aliasing term is least:
// |D| hq < 2 pi sqrt(1 + tau). 12 to 80 nodes; 12 to 16 from c2 = 100 on.
//
// Precedents: S. O. Rice, Efficient evaluation of integrals of analytic functions by the
// trapezoidal rule, Bell Syst. Tech. J. 52 (1973) 707; C. W. Helstrom, Computing the generalized
// Marcum Q-function, IEEE Trans. Inf. Theory 38 (1992) 1422; L. N. Trefethen and J. A. C.
// Weideman, The exponentially convergent trapezoidal rule, SIAM Review 56 (2014) 385.
#pragma once

#include <cmath>

#include "simd.hpp"

namespace rsb {

constexpr double pi = 3.141592653589793;

struct Integral {
    double tail;     // the tail on the side of sign(tau), over e^phi0
    double density;  // density of Y times (1 + tau), over e^phi0
    double drift;    // the same with weight 1/g - 1: what d/ds needs
};

constexpr double aliasing = 38, line = 4.47;  // a and k of the quadrature, see the top

// hq with 1 - c = r/(r + k): B = ((r + k)/r - r/(r + k))^2 = (k (2 r + k)/p)^2, p = r (r + k), so
//   2 pi c/(a + c2 B/2) = 2 pi k r p/(a p^2 + c2 (k (2 r + k))^2/2)
inline double quadrature_step(double c2) {
    const double r = std::sqrt(c2) + 0.3, rk = r + line, p = r * rk, b = line * (r + rk);
    return 2 * pi * line * (r * p) / (aliasing * p * p + 0.5 * c2 * (b * b));
}

RSB_CLONES
inline Integral contour(double mu, double beta, double c2, double tau, double root,
                        double phi0, double excess) {
    const double step = quadrature_step(c2);
    constexpr vec first = {0.5, 1.5, 2.5, 3.5};
    vec tails = {}, densities = {}, drifts = {};
    for (int k = 0;; k += lanes) {
        const vec q = (first + double(k)) * step, v = q * q;
        const LogAtan la = log1p_atan(q, v);
        const vec i1 = 1.0 / (1.0 + v), i2 = i1 * i1;
        const vec exponent = mu * (la.log1p + v) + beta * v * (1.0 + (3.0 + v) * i2);
        const vec angle = 2.0 * (mu * la.defect + beta * q * v * (2.0 + v) * i2);
        vec e = exp_neg(-exponent);
        const SinCos sc = sincos(angle, e);
        const vec ec = e * sc.cos, es = e * (q * sc.sin), tv = tau + v;
        tails += ((tau - v) * ec - (2.0 + tv) * es) / (tv * tv + 4.0 * v);
        densities += ec - es;
        drifts += ((2.0 + v) * es - v * ec) * i1;
        // the next node's exponent, extrapolated: what is left out is below 1e-16 of the sum
        if (!(2 * exponent[lanes - 1] - exponent[lanes - 2] < 36)) break;
    }
    const double scale = 2 / pi * step;
    Integral out;
    out.tail = (tau < 0 ? -scale : scale) * sum(tails);
    out.density = scale * sum(densities);
    out.drift = scale * sum(drifts);
    if (std::fabs(excess) * step < 2 * pi * root) {
        const double e = 2 * pi * std::fabs(tau / (1 + root)) / step;
        out.tail += std::exp(-phi0 - e) / (1 + std::exp(-e));
    }
    return out;
}

}  // namespace rsb
