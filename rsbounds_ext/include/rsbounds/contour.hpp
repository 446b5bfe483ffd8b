// The integral behind the tails of a noncentral chi-square law: quadrature on a
// parabola through the saddle. Symbols as in ball.hpp; derived in
// docs/theory/off-centre-ball.md ("The parabola", "Quadrature").
//
// On the parabola 1 - theta = (1 - iq)^2/(1 + tau), q real, with v = q^2,
//   P(X > x) e^-phi0 = (2/pi) int_0^inf E A dq,
//   A     = [(tau - v) cos T - q (2 + tau + v) sin T]/((tau + v)^2 + 4 v),
//   log E = -[mu (log1p v + v) + beta v (1 + (3 + v)/(1 + v)^2)],
//   T     = 2 [mu (q - atan q) + beta q v (2 + v)/(1 + v)^2],
// for tau < 0 minus the lower tail. The same nodes give the density of Y,
//   e^phi0/(1 + tau) (2/pi) int E (cos T - q sin T) dq,
// and `drift`, which has the further weight 1/g - 1, g = (1 - iq)^2. Why a parabola: E
// decays like exp(-(mu + beta) q^2) at every N > 0, so that one formula serves all
// dimensions, and all terms of log E have one sign, as have those of T.
//
// The midpoint rule of step h_q is wrong by less than e^-42 of the integral's own scale
// (`aliasing`), with 12 to 80 nodes (nodes.hpp). The pole q = i kappa, kappa = sqrt(1 +
// tau) - 1, adds 1/(e^e + 1) to the tail, with e = 2 pi |kappa|/h_q, if it is nearer to
// the axis than the line on which the aliasing is least, that is if |D| h_q < 2 pi
// sqrt(1 + tau). Away from the pole the nodes of the tables are at integers times the
// step (the trapezoidal rule): the one at 0 is free and exact, and the pole's part is
// -1/(e^e - 1). Near the pole that node would be its neighbour, so there the nodes are
// half integers.
//
// Sources: Rice 1973, Helstrom 1992, Trefethen and Weideman 2014; in full on the page
// above.
#pragma once

#include <cmath>
#include <limits>

#include "nodes.hpp"
#include "twofold.hpp"

namespace rsb {

constexpr double pi = 3.141592653589793;

struct Integral {
    Sum2 tail;       // on the side of sign(tau), over e^phi0, but for the pole's part
    double density;  // density of Y times (1 + tau), over e^phi0
    double drift;    // the same with weight 1/g - 1: what d/ds needs
    double pole;     // e: the tail's other part is 1/(e^e + 1), or -1/(e^e - 1)
    double rule;     // the sign in it: 1 if the nodes are half integers, -1 if integers
};

// h_q = 2 pi c/(a + c2 B/2), where the integrand is at most e^(c2 B/2) on the line Im q
// = -c. With r = sqrt c2 + .3 the choice c = k/(k + r) is within a few per cent of the
// best. Then B = (k (2 r + k)/p)^2, p = r (r + k).
constexpr double aliasing = 42;  // a
constexpr double line = 4.47;    // k
inline double quadrature_step(double c2) {
    const double r = std::sqrt(c2) + 0.3;
    const double rk = r + line;
    const double p = r * rk;
    const double b = line * (r + rk);
    return 2 * pi * line * (r * p) / (aliasing * p * p + 0.5 * c2 * (b * b));
}

struct Vec2 {
    vec hi, lo;
};
RSB_INLINE Vec2 two_sum(vec a, vec b) {
    const vec s = a + b;
    const vec t = s - a;
    return {s, (a - (s - t)) + (b - t)};
}
RSB_INLINE Vec2 two_prod(vec a, vec b) {
    Vec2 p = {a * b, a};
    for (int i = 0; i < lanes; ++i) p.lo[i] = std::fma(a[i], b[i], -p.hi[i]);
    return p;
}

// [(tau - v) ec - (2 + tau + v) es]/((tau + v)^2 + 4 v) with one rounding, that of the
// term in es
RSB_INLINE Vec2 near_quotient(double tau, vec v, Vec2 ec, vec es) {
    const vec t = v * 0.0 + tau;
    const Vec2 a = two_sum(t, -v);
    const Vec2 b = two_sum(t, v);
    const Vec2 main = two_prod(a.hi, ec.hi);
    const Vec2 top = two_sum(main.hi, -(2.0 + b.hi) * es);
    const Vec2 square = two_prod(b.hi, b.hi);
    const Vec2 den = two_sum(square.hi, 4.0 * v);
    const vec top_low = top.lo + (main.lo + (a.hi * ec.lo + a.lo * ec.hi));
    const vec den_low = den.lo + (square.lo + 2.0 * b.hi * b.lo);
    const vec r = top.hi / den.hi;
    const Vec2 back = two_prod(r, den.hi);
    return {r, (((top.hi - back.hi) - back.lo) + (top_low - r * den_low)) / den.hi};
}

// The sums over the nodes. Quotients have seven roundings each. So far from the pole
// the sum is arranged as that of E cos T less a quotient of about 1/z^2 of it; near the
// pole the first four quotients, which make up the sum, are formed with one rounding.
template <bool far, class Nodes>
RSB_INLINE Integral over(const Nodes& nodes, double tau, bool drift) {
    vec leads = {};
    vec tails = {};
    vec densities = {};
    vec drifts = {};
    nodes.each([&](const Node& n, bool first) __attribute__((always_inline)) {
        const vec v = n.v;
        const vec ec = n.lead + n.rest;
        const vec es = n.sin;
        densities += ec - es;
        if (drift) drifts += ((2.0 + v) * es - v * ec) / (1.0 + v);
        if (first && !far) {
            const Vec2 r = near_quotient(tau, v, {n.lead, n.rest}, es);
            leads = r.hi;
            tails = r.lo;
            return;
        }
        const vec tv = tau + v;
        const vec square = fused(tv, tv, 4.0 * v);
        if (far) {
            const vec top =
                fused(v * ((4.0 + 3.0 * tau) + v), ec, tau * (2.0 + tv) * es);
            tails += n.rest - top / square;
            if (first) leads = n.lead;
        } else {
            tails += ((tau - v) * ec - (2.0 + tv) * es) / square;
        }
    });
    // 2/pi in two parts, the first of 26 bits: its product with the step is exact
    const double high = 0x1.45f3068p-1 * nodes.step;
    const double low = 0x1.727220a94fe14p-27 * nodes.step;
    const double scale = high + low;
    const double side = tau < 0 ? -1 : 1;
    const Sum2 all = (far ? nodes.leads(leads) : exact_sum(leads)) + sum(tails);
    const Sum2 main = two_prod(side * all.hi, high);
    Integral out;
    out.tail = fast_two_sum(main.hi, main.lo + side * (all.hi * low + all.lo * high));
    if (far) out.tail = out.tail / tau;
    out.density = scale * (sum(densities) + (Nodes::integers ? 0.5 : 0));
    out.drift = drift ? scale * sum(drifts) : 0;
    out.rule = Nodes::integers ? -1 : 1;
    return out;
}

template <bool far>
RSB_INLINE Integral contour(double mu, double beta, double c2, double tau, bool drift,
                            double& step) {
    // the step has 26 bits, so that k step and (k + 1/2) step are exact
    if (c2 < 350) {
        step = leading(quadrature_step(c2));
        return over<far>(AnyNodes{mu, beta, step}, tau, drift);
    }
    const bool twelve = c2 >= 2e4;
    step = leading((twelve ? Twelve::kappa : Sixteen::kappa) / std::sqrt(c2));
    return c2 < 1200  ? over<far>(TableNodes<From350, far>(mu, beta, step), tau, drift)
           : c2 < 2e4 ? over<far>(TableNodes<From1200, far>(mu, beta, step), tau, drift)
           : c2 < 6e4 ? over<far>(TableNodes<From2e4, far>(mu, beta, step), tau, drift)
                      : over<far>(TableNodes<From6e4, far>(mu, beta, step), tau, drift);
}

// `far`: from the pole, judged by e^phi0; `drift` is 0 unless asked for
RSB_INLINE Integral contour(double mu, double beta, double c2, double tau, double root,
                            double excess, bool far, bool drift) {
    double step;
    Integral out = far ? contour<true>(mu, beta, c2, tau, drift, step)
                       : contour<false>(mu, beta, c2, tau, drift, step);
    out.pole = std::fabs(excess) * step < 2 * pi * root
                   ? 2 * pi * std::fabs(tau / (1 + root)) / step
                   : std::numeric_limits<double>::infinity();
    return out;
}

}  // namespace rsb
