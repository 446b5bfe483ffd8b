// How fast a score can move with log sigma: R_d(p) = eps0 f(eps0)/phi(z), where f is
// the density of chi^2_d and eps0 its 1 - p quantile ([B] Lemma 1), and dR/dz. Derived,
// with the error bound 2e-13 of R, relative, in docs/theory/lipschitz.md.
//
// With z = Phi^-1(1 - p) and the quantile solve at nc = 0 (quantile.hpp),
//   R = (d/2) density e^phi0/phi(z).
// R = 1/S'(z) for the map S from N(0, 1) to log chi^2_d, so
//   dR/dz = R z + (d - eps0)/2 = R z - (d/2) tau > 0.
//
// Source: [B] Bergström, Sager, Anderson, Lipschitz standard deviation networks.
#pragma once

#include "envelope.hpp"

namespace rsb {

// how far the score at the quantile may be off, per 1 + |z|: checked
constexpr double solve_error = 1e-14;

struct RatioSlope {
    double ratio, slope;  // R and dR/dz
};

// z = Phi^-1(1 - p)
inline RatioSlope lipschitz_both(double z, double dim) {
    if (!ball_domain(z, dim, 0)) return {nan, nan};
    if (std::fabs(z) == inf) return z < 0 ? RatioSlope{0, 0} : RatioSlope{inf, 0};
    if (z > 1e50) return {0.5 * z, 0.5};
    const Quantile q = quantile(z, 0.5 * dim, 0);
    const double tau = q.at.tau;
    const double size = std::fabs(z);
    const Tail t = q.tail_there();
    if (!(std::fabs(t.score() - z) <= solve_error * (1 + size))) return {nan, nan};
    // e^phi0/phi(z): beyond 1 exp(z^2/2 + phi0) would lose digits, M(|z|)/tail keeps
    // them
    const double scale = size > 1 ? mills(size) / t.total()
                                  : sqrt_2pi * std::exp(0.5 * z * z + t.phi0.hi);
    const double ratio = q.mu * t.density * scale;
    return {ratio, ratio * z - q.mu * tau};
}

inline double lipschitz_ratio(double z, double dim) {
    return lipschitz_both(z, dim).ratio;
}
inline double lipschitz_slope(double z, double dim) {
    return lipschitz_both(z, dim).slope;
}

}  // namespace rsb
