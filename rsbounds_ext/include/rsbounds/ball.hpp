// The probability of an off-centre ball, and with it the noncentral chi-square law:
// both tails, their logarithms, the density and the normal score.
//
// Derived, in these symbols, in docs/theory/off-centre-ball.md ("Coordinates that do
// not cancel", "Saddle point", "The last bits"); the error bounds in
// docs/theory/quadrature-proof.md.
//
//   X = |Z|^2, Z ~ N(s e1, I_N), N >= 1 real
//   mu = N/2,  h = s^2/2,  y = x/2,  D = x - N - s^2
//   c2 = sqrt(mu^2 + 4 h y),  1 + tau = x/(mu + c2),  beta = h (1 + tau)
//   c2 = mu + 2 beta
//   phi0 = -[mu (tau - log1p tau) + h tau^2], the exponent at the saddle
//
// The tail on the side of sign(tau), always the smaller one or nearly so, is e^phi0
// times an integral of order one (contour.hpp). So its logarithm keeps its digits
// however small it is; the other tail is 1 - p.
//
// Errors, measured: 4e-16 of a tail, 4e-16 + 1.2e-16 |.| of a logarithm or a score,
// 8e-16 of the density; below 4 degrees of freedom 8e-16 + 1.6e-16 |.|.
#pragma once

#include "contour.hpp"
#include "normal.hpp"
#include "twofold.hpp"

namespace rsb {

// t - log1p(t) for t > -1, to 4e-16 relative. Subtracting would lose the digits near 0,
// where there is a series; beyond it log 2 is split off first.
inline double log1p_defect(double t) {
    if (t < -0.45) return ((t + ln2) - std::log1p(1 + 2 * t)) + ln2_low;
    if (t > 2) return t - std::log1p(t);
    if (t > 0.7) return ((t - ln2) - std::log1p(0.5 * (t - 1))) - ln2_low;
    static constexpr double c[] = {
        0.3333333333333333, 0.2, 0.14285714285714285, 0.1111111111111111,
        0.09090909090909091, 0.07692307692307693, 0.06666666666666667,
        0.058823529411764705, 0.05263157894736842, 0.047619047619047616,
        0.043478260869565216, 0.04, 0.037037037037037035, 0.034482758620689655,
        0.03225806451612903};
    const double s = t / (2 + t);
    const double s2 = s * s;
    double p = c[14];
    for (int i = 13; i >= 0; --i) p = p * s2 + c[i];
    return s * (t - 2 * s2 * p);
}

// Bounds of a score's error per 1 + |z|, N >= 1 (docs/theory/proofs.md)
constexpr double score_error = 4e-15;          // c2 >= 30
constexpr double small_score_error = 1.7e-14;  // below
inline double score_bound(double c2, double z) {
    return (c2 < 30 ? small_score_error : score_error) * (1 + std::fabs(z));
}

struct Saddle {
    double mu, h, beta, c2;
    double tau, root;      // root = sqrt(1 + tau)
    Sum2 phi0, log_ratio;  // log_ratio = log(1 + tau)
    // R/(1 + tau), R = D/2 - tau (mu + h (2 + tau)): 0 if tau were the saddle itself
    double shift;
};

// phi0 and log(1 + tau)
struct Exponent {
    Sum2 phi0, log_ratio;
};
// for tau >= -0.25, square = h tau^2
RSB_INLINE Exponent exponent_near(double mu, Sum2 square, double tau) {
    const Sum2 defect = log1p_defect_two(tau);
    const Sum2 log = fast_two_sum(tau, -defect.hi);
    return {-(defect * mu + square), {log.hi, log.lo - defect.lo}};
}
// for tau below that, where root and not tau holds the digits: 1 + tau is the square of
// root 2^-power
RSB_INLINE Exponent exponent_deep(double mu, Sum2 h, Sum2 tau, double root,
                                  double power) {
    const Sum2 log = log_two(root) - times_ln2(power);
    const Sum2 twice = {2 * log.hi, 2 * log.lo};
    return {(twice - tau) * mu - h * (tau * tau), twice};
}

// D (`excess`) comes from the arguments without an error, and phi0 in two doubles at
// the double that tau is; `shift` says how far that is from the saddle. rho = sqrt(x),
// or 0: then it is computed where it is needed.
RSB_INLINE Saddle saddle_at(double dim, Sum2 nc, double x, Sum2 rho, Sum2 excess) {
    Saddle p;
    p.mu = 0.5 * dim;
    p.h = 0.5 * nc.hi;
    const Sum2 h = {p.h, 0.5 * nc.lo};
    p.c2 = std::sqrt(p.mu * p.mu + nc.hi * x);
    const double far = p.mu + p.c2;
    const double ratio = x / far;
    Exponent e;
    if (ratio > 0.75) {
        // tau comes from D: from x it would be x - N - s^2, which cancels
        p.tau = excess.hi / ((x - p.mu) + p.c2) * ratio;
        p.root = std::sqrt(ratio);
        p.beta = p.h + p.h * p.tau;
        const Sum2 square = h * two_prod(p.tau, p.tau);
        e = exponent_near(p.mu, square, p.tau);
        // shift: D/2 - tau (mu + 2 h) - h tau^2, which cancels, from error-free parts
        const Sum2 m = two_sum(p.mu, nc.hi);
        const Sum2 line = two_prod(p.tau, m.hi);
        const Sum2 rest = two_sum(0.5 * excess.hi, -line.hi);
        const double low =
            0.5 * excess.lo - (line.lo + square.lo + p.tau * (m.lo + nc.lo));
        p.shift = ((rest.hi - square.hi) + (rest.lo + low)) / (1 + p.tau);
    } else {
        // 1 + tau is what counts here, so its root holds the digits; x and root may
        // underflow where rho does not
        if (rho.hi == 0) rho = square_root(x);
        const bool tiny = rho.hi < 1e-200;
        const double up = tiny ? 0x1p600 : 1;
        const Sum2 big = {rho.hi * up, rho.lo * up};
        const double root = big.hi / std::sqrt(far);
        p.root = root / up;
        const Sum2 square = two_prod(p.root, p.root);
        const Sum2 tau = square + -1.0;
        p.tau = tau.hi;
        p.beta = p.h * square.hi;
        e = exponent_deep(p.mu, h, tau, root, tiny ? 600 : 0);
        // shift: y/(1 + tau) - (mu + h (1 + tau)) with y = rho^2/2
        const Sum2 q = big / root;
        const Sum2 y = q * q;
        const Sum2 d = Sum2{0.5 * y.hi, 0.5 * y.lo} + -p.mu;
        p.shift = value(d - h * square);
    }
    p.phi0 = {e.phi0.hi, std::fma(-p.tau, p.shift, e.phi0.lo)};
    p.log_ratio = e.log_ratio;
    return p;
}

// Both tails. The small one, e^phi0 scaled, lies on the side of sign(tau); it is at
// most 0.69. Where e^phi0 > 0.6 (`central`) the pole of the integrand at tau = 0 is
// near: there `scaled` lacks the pole's part 1/(1 + e^pole) of the tail, which is added
// in closed form.
struct Tail {
    Sum2 phi0, scaled;
    double density, drift, pole;
    bool upper;
    Sum2 log_ratio;
    double beta;

    bool central() const { return phi0.hi > -0.5; }
    double total() const {  // scaled and the pole's part over e^phi0
        return central() ? scaled.hi + std::exp(-phi0.hi) / (1 + std::exp(pole))
                         : scaled.hi;
    }
    Sum2 line() const {  // e^phi0 scaled
        const Scaled2 e = exp_two(phi0);
        const Sum2 p = e.value * scaled;
        return {rsb::scaled(p.hi, e.power), rsb::scaled(p.lo, e.power)};
    }
    Sum2 small_two() const {
        if (central())
            return pole < 2 ? centred() + 0.5 : line() + 1 / (1 + std::exp(pole));
        return line();
    }
    double small() const { return value(small_two()); }
    // small - 1/2, from which a score near 0 follows with all its digits
    Sum2 centred() const {
        const double e = std::expm1(pole);
        return line() + (pole < 40 ? -0.5 * e / (e + 2) : -0.5);
    }
    double below() const { return upper ? 1 - small() : small(); }
    double above() const { return upper ? small() : 1 - small(); }
    Sum2 log_small_two() const {
        const Sum2 p = central() ? small_two() : scaled;
        const double log = std::log(p.hi);
        const double low = p.lo / p.hi;
        return central() ? fast_two_sum(log, low)
                         : two_sum(phi0.hi, phi0.lo + (log + low));
    }
    double log_small() const { return log_small_two().hi; }
    double log_lower() const { return upper ? std::log1p(-small()) : log_small(); }
    double log_upper() const { return upper ? log_small() : std::log1p(-small()); }
    double density_of_x() const {
        const Scaled2 e = exp_two(phi0 - log_ratio);
        return rsb::scaled(value(e.value * (0.5 * density)), e.power);
    }
    double log_density() const {  // of X
        return value(phi0 - log_ratio + log_two(0.5 * density));
    }
    Sum2 score_two() const {
        const Sum2 z =
            central() ? central_score(centred()) : outer_score(log_small_two());
        return upper ? -z : z;
    }
    Sum2 central_score(Sum2 c) const {
        return c.hi < -0.425 ? -ndtri_tail(log_small_two()) : ndtri_centre(c);
    }
    Sum2 outer_score(Sum2 l) const {
        return l.hi < log_central ? -ndtri_tail(l)
                                  : ndtri_centre(two_sum(small(), -0.5));
    }
    double score() const { return score_two().hi; }
};

RSB_INLINE Tail tail_from(Sum2 phi0, Sum2 scaled, const Integral& i, bool upper,
                          Sum2 log_ratio, double beta) {
    if (i.pole < inf && !(phi0.hi > -0.5)) {
        const vec e = exp_neg(vec{-phi0.hi - i.pole, -i.pole, 0, 0});
        scaled = scaled + i.rule * (e[0] / (1 + i.rule * e[1]));
    }
    return {phi0, scaled, i.density, i.drift, i.pole, upper, log_ratio, beta};
}

RSB_INLINE Tail tail_at(const Saddle& p, const Integral& i) {
    // tau is the saddle of D - 2 (1 + tau) shift, not of D: first-order changes of the
    // tail
    const bool upper = p.tau >= 0;
    const double move = p.shift * (upper ? p.tau * i.tail.hi - i.density
                                         : p.tau * i.tail.hi + i.density);
    // and of (1 + tau)/density, as the density goes as c2^-1/2
    const double grown = p.shift / p.c2 * (1 + p.beta / p.c2);
    const Sum2 log_ratio = {p.log_ratio.hi, p.log_ratio.lo + grown};
    return tail_from(p.phi0, {i.tail.hi, i.tail.lo + move}, i, upper, log_ratio,
                     p.beta);
}

inline Tail tail_of(double dim, Sum2 nc, double x, Sum2 rho, Sum2 excess,
                    bool drift = false) {
    const Saddle p = saddle_at(dim, nc, x, rho, excess);
    // so far out the integrand is e^-theta alone, and tau^2 would overflow
    if (!(p.tau < 1e100)) return tail_at(p, {{1 / p.tau, 0}, 1, 0, inf, 1});
    return tail_at(p, contour(p.mu, p.beta, p.c2, p.tau, p.root, excess.hi,
                              !(p.phi0.hi > -0.5), drift));
}

// e^phi0 over the normal density at the score z; the second form magnifies what z is
// off by
inline double over_normal(const Tail& t, double z, double from = 8) {
    z = std::fabs(z);
    return z > from ? mills(z) / t.total()
                    : sqrt_2pi * std::exp(0.5 * z * z + t.phi0.hi);
}

// D = rho^2 - s^2 - N in two doubles, from rho: u = rho - s would round
inline Sum2 square_excess(double rho, double dim, double s) {
    const Sum2 r = two_prod(rho, rho);
    const Sum2 p = two_prod(s, s);
    const Sum2 d = two_sum(r.hi, -p.hi);
    const Sum2 e = two_sum(d.hi, -dim);
    return two_sum(e.hi, e.lo + (d.lo + (r.lo - p.lo)));
}

// the same from u, unless rho is so small that u = rho - s has lost its digits
inline Sum2 ball_excess(double u, double rho, double dim, double s) {
    if (rho < 0.5 * s) return square_excess(rho, dim, s);
    const Sum2 w = two_sum(2 * s, u);
    const Sum2 p = two_prod(u, w.hi);
    const Sum2 d = two_sum(p.hi, -dim);
    return two_sum(d.hi, d.lo + (p.lo + u * w.lo));
}

inline Sum2 ball_rho(double u, double rho, double s) {
    return rho < 0.5 * s ? Sum2{rho, 0} : two_sum(s, u);
}

// D = x - df - nc in two doubles
inline Sum2 ncx2_excess(double x, double df, double nc) {
    const Sum2 a = two_sum(x, -nc);
    const Sum2 d = two_sum(a.hi, -df);
    return two_sum(d.hi, d.lo + a.lo);
}

// From here on a ball is a half-space to double precision.
constexpr double half_space = 1e60;

// A ball is given by u and rho = s + u both: neither follows from the other without an
// error.
inline Tail ball_tail(double u, double rho, double dim, double s, bool drift = false) {
    return tail_of(dim, two_prod(s, s), rho * rho, ball_rho(u, rho, s),
                   ball_excess(u, rho, dim, s), drift);
}

inline Tail ncx2_tail(double x, double df, double nc) {
    return tail_of(df, {nc, 0}, x, {0, 0}, ncx2_excess(x, df, nc));
}

// Degrees of freedom of the law of x. Up to there x - df - nc, in two doubles, is known to
// 1e-16 standard deviations; dimensions of balls end at 1e8.
constexpr double least_df = 1e-300;
constexpr double most_df = 1e30;

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
