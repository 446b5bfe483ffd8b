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
// |D| hq < 2 pi sqrt(1 + tau). 16 to 80 nodes of this step; from c2 = 350 on 16 nodes of step
// .3/sqrt(c2), which is no larger, at less work (nodes.hpp).
//
// Precedents: S. O. Rice, Efficient evaluation of integrals of analytic functions by the
// trapezoidal rule, Bell Syst. Tech. J. 52 (1973) 707; C. W. Helstrom, Computing the generalized
// Marcum Q-function, IEEE Trans. Inf. Theory 38 (1992) 1422; L. N. Trefethen and J. A. C.
// Weideman, The exponentially convergent trapezoidal rule, SIAM Review 56 (2014) 385.
#pragma once

#include <cmath>

#include "nodes.hpp"

namespace rsb {

constexpr double pi = 3.141592653589793;

struct Integral {
    double tail;     // the tail on the side of sign(tau), over e^phi0
    double density;  // density of Y times (1 + tau), over e^phi0
    double drift;    // the same with weight 1/g - 1: what d/ds needs
};

constexpr double near_gaussian = 350, gaussian_law = 2e4;  // where nodes.hpp has other nodes
constexpr double aliasing = 38, line = 4.47;  // a and k of the quadrature, see the top

// hq with 1 - c = r/(r + k): B = ((r + k)/r - r/(r + k))^2 = (k (2 r + k)/p)^2, p = r (r + k), so
//   2 pi c/(a + c2 B/2) = 2 pi k r p/(a p^2 + c2 (k (2 r + k))^2/2)
inline double quadrature_step(double c2) {
    const double r = std::sqrt(c2) + 0.3, rk = r + line, p = r * rk, b = line * (r + rk);
    return 2 * pi * line * (r * p) / (aliasing * p * p + 0.5 * c2 * (b * b));
}

template <class Nodes>
RSB_INLINE Integral over(const Nodes& nodes, double tau) {
    vec tails = {}, densities = {}, drifts = {};
    for (int k = 0;; k += lanes) {
        const Node n = nodes.at(k);
        const vec tv = tau + n.v;
        tails += ((tau - n.v) * n.cos - (2.0 + tv) * n.sin) / (tv * tv + 4.0 * n.v);
        densities += n.cos - n.sin;
        drifts += ((2.0 + n.v) * n.sin - n.v * n.cos) / (1.0 + n.v);
        if (n.last) break;
    }
    const double scale = 2 / pi * nodes.step;
    return {(tau < 0 ? -scale : scale) * sum(tails), scale * sum(densities), scale * sum(drifts)};
}

RSB_CLONES
inline Integral contour(double mu, double beta, double c2, double tau, double root,
                        double phi0, double excess) {
    const double step = c2 < near_gaussian ? quadrature_step(c2) : kappa / std::sqrt(c2);
    Integral out = c2 < near_gaussian  ? over(AnyNodes{mu, beta, step}, tau)
                   : c2 < gaussian_law ? over(TableNodes<7, 7, 10, 10, 10>(mu, beta, step), tau)
                                       : over(TableNodes<3, 4, 5, 4, 5>(mu, beta, step), tau);
    if (std::fabs(excess) * step < 2 * pi * root) {
        const double e = 2 * pi * std::fabs(tau / (1 + root)) / step;
        out.tail += std::exp(-phi0 - e) / (1 + std::exp(-e));
    }
    return out;
}

}  // namespace rsb
