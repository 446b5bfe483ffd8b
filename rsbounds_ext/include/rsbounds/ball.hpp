// Probability of an off-centre ball, and the noncentral chi-square behind it. Derived, in the same
// symbols, in docs/theory/off-centre-ball.md.
//
// X = |Z|^2, Z ~ N(s e1, I_N): mu = N/2, h = s^2/2, y = x/2, D = x - N - s^2. With
//   sq = sqrt(mu^2 + 4 h y),  1 + tau = x/(mu + sq),  beta = h (1 + tau),  c2 = mu + 2 beta = sq
// the saddle of E[e^{theta Y}] e^{-theta y} is theta = tau/(1 + tau), its exponent
//   phi0 = -[mu (tau - log1p tau) + h tau^2],
// and the small tail is e^phi0 times the integral of contour.hpp.
//
// Errors: see rsbounds.special.error_bound. Nothing cancels: D comes error-free from the
// arguments, every other operation adds terms of one sign or is well conditioned.
#pragma once

#include "contour.hpp"
#include "normal.hpp"

namespace rsb {

struct Sum2 {
    double hi, lo;
};
inline Sum2 two_sum(double a, double b) {
    const double s = a + b, t = s - a;
    return {s, (a - (s - t)) + (b - t)};
}
inline Sum2 two_prod(double a, double b) {
    const double p = a * b;
    return {p, std::fma(a, b, -p)};
}

// log x in two doubles, to 1e-16 absolute: the exponent's part is exact in both
inline Sum2 log_two(double x) {
    int e;
    const double m = std::frexp(x, &e), hi = e * 0x1.62e42fefa3800p-1;
    return two_sum(hi, e * 0x1.ef35793c76730p-45 + std::log(m));
}

// t - log1p(t), t > -1, relative error below 4e-16: a series about 0, log 2 split off beyond
inline double log1p_defect(double t) {
    if (t < -0.45) return ((t + ln2) - std::log1p(1 + 2 * t)) + ln2_low;
    if (t > 2) return t - std::log1p(t);
    if (t > 0.7) return ((t - ln2) - std::log1p(0.5 * (t - 1))) - ln2_low;
    static constexpr double c[] = {
        0.3333333333333333, 0.2, 0.14285714285714285, 0.1111111111111111, 0.09090909090909091,
        0.07692307692307693, 0.06666666666666667, 0.058823529411764705, 0.05263157894736842,
        0.047619047619047616, 0.043478260869565216, 0.04, 0.037037037037037035,
        0.034482758620689655, 0.03225806451612903};
    const double s = t / (2 + t), s2 = s * s;
    double p = c[14];
    for (int i = 13; i >= 0; --i) p = p * s2 + c[i];
    return s * (t - 2 * s2 * p);
}

struct Saddle {
    double mu, h, beta, c2;
    double tau, root;  // root = sqrt(1 + tau)
    double phi0, phi1;  // phi1 = phi0 - log(1 + tau), for the density
};

// Error of tau as D/2 - tau (mu + h (2 + tau)), the equation it solves; two parts of D.
inline double saddle_residual(double mu, Sum2 h, double tau, Sum2 excess) {
    const Sum2 g = two_sum(2, tau), hg = two_prod(h.hi, g.hi), m = two_sum(mu, hg.hi);
    const Sum2 p = two_prod(tau, m.hi);
    const double low = m.lo + (hg.lo + (h.hi * g.lo + h.lo * g.hi));
    return (0.5 * excess.hi - p.hi) + (0.5 * excess.lo - (p.lo + tau * low));
}

inline Saddle saddle_at(double dim, Sum2 nc, double x, double rho, Sum2 excess) {
    Saddle p;
    p.mu = 0.5 * dim;
    p.h = 0.5 * nc.hi;
    const double snc = nc.hi * x;
    p.c2 = snc < 1e300 ? std::sqrt(p.mu * p.mu + snc) : std::sqrt(nc.hi) * rho;
    const double far = p.mu + p.c2, ratio = x / far;
    if (ratio > 1e-3) {
        p.tau = ratio < 0.5 ? ratio - 1 : excess.hi / ((x - p.mu) + p.c2) * ratio;
        p.root = std::sqrt(ratio);
        p.phi0 = -(p.mu * log1p_defect(p.tau) + p.h * p.tau * p.tau) -
                 p.tau / ratio * saddle_residual(p.mu, {p.h, 0.5 * nc.lo}, p.tau, excess);
        p.phi1 = p.phi0 - std::log(ratio);
    } else {  // x and root may underflow where rho does not
        p.root = rho / std::sqrt(far);
        p.tau = p.root * p.root - 1;
        const Sum2 a = log_two(rho), b = log_two(far), l = two_sum(2 * a.hi, -b.hi);
        const double low = l.lo + (2 * a.lo - b.lo);
        // mu log_ratio - (mu + h tau) tau; for the density, of other sign when N < 2, mu - 1
        const Sum2 m = two_prod(p.mu - 1, l.hi), g = two_prod(p.h, p.tau * p.tau);
        const Sum2 d = two_sum(m.hi, -g.hi);
        p.phi0 = p.mu * (l.hi + low) - (p.mu + p.h * p.tau) * p.tau;
        p.phi1 = d.hi + (d.lo + (m.lo - g.lo) + (p.mu - 1) * low - p.mu * p.tau);
    }
    p.beta = p.h * (p.root * p.root);
    return p;
}

// Both tails. The small one, e^phi0 scaled, lies on the side of sign(tau); it is at most 0.69.
struct Tail {
    double phi0, scaled, density, drift;
    bool upper;
    double phi1 = nan, beta = nan;
    double small() const { return std::exp(phi0) * scaled; }
    double below() const { return upper ? 1 - small() : small(); }
    double above() const { return upper ? small() : 1 - small(); }
    double log_small() const { return phi0 + std::log(scaled); }
    double log_lower() const { return upper ? std::log1p(-small()) : log_small(); }
    double log_upper() const { return upper ? log_small() : std::log1p(-small()); }
    double density_of_x() const { return std::exp(log_density()); }
    double log_density() const { return phi1 + std::log(0.5 * density); }
    double score() const {
        const double l = log_small();
        const double z = l < log_central ? -ndtri_tail(l) : ndtri_centre(small() - 0.5);
        return upper ? -z : z;
    }
};

inline Tail tail_of(double dim, Sum2 nc, double x, double rho, Sum2 excess) {
    const Saddle p = saddle_at(dim, nc, x, rho, excess);
    const Integral i =
        p.tau < 1e100 ? contour(p.mu, p.beta, p.c2, p.tau, p.root, p.phi0, excess.hi)
                      : Integral{1 / p.tau, 1, 0};
    return {p.phi0, i.tail, i.density, i.drift, p.tau >= 0, p.phi1, p.beta};
}

// D = rho^2 - s^2 - N in two parts, however rho - s would round
inline Sum2 square_excess(double rho, double dim, double s) {
    const Sum2 r = two_prod(rho, rho), p = two_prod(s, s);
    const Sum2 d = two_sum(r.hi, -p.hi), e = two_sum(d.hi, -dim);
    return two_sum(e.hi, e.lo + (d.lo + (r.lo - p.lo)));
}

// the same through u = rho - s unless rho is the smaller of the two
inline Sum2 ball_excess(double u, double rho, double dim, double s) {
    if (rho < 0.5 * s) return square_excess(rho, dim, s);
    const Sum2 w = two_sum(2 * s, u), p = two_prod(u, w.hi), d = two_sum(p.hi, -dim);
    return two_sum(d.hi, d.lo + (p.lo + u * w.lo));
}

// D = x - df - nc in two parts
inline Sum2 ncx2_excess(double x, double df, double nc) {
    const Sum2 a = two_sum(x, -nc), d = two_sum(a.hi, -df);
    return two_sum(d.hi, d.lo + a.lo);
}

constexpr double half_space = 1e60;  // from here on a ball is a half-space to double precision

// A ball is (u, rho) with rho = s + u: one of the two cannot follow from the other exactly.
inline Tail ball_tail(double u, double rho, double dim, double s) {
    return tail_of(dim, two_prod(s, s), rho * rho, rho, ball_excess(u, rho, dim, s));
}

inline Tail ncx2_tail(double x, double df, double nc) {
    return tail_of(df, {nc, 0}, x, std::sqrt(x), ncx2_excess(x, df, nc));
}

inline bool ball_domain(double u, double dim, double s) {
    return dim >= 1 && dim <= 1e8 && s >= 0 && u == u;
}

inline double ball_score(double u, double dim, double s) {
    if (!ball_domain(u, dim, s)) return nan;
    if (s + u <= 0) return -inf;
    if (s >= half_space || u >= half_space) return u;
    return ball_tail(u, s + u, dim, s).score();
}

}  // namespace rsb
