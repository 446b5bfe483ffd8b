// The standard normal law: tails in logarithms, and scores z with Phi(z) = p from p or
// from log p. The errors, relative, are the largest of 300,000 points against quadruple
// precision; docs/theory/proofs.md has the bounds that are proved.
//
// mills         7e-16   M(z) = Q(z)/phi(z), Q the upper tail, z >= 0
// log_ndtr    1.3e-15
// ndtri_tail    4e-16   z >= 0 from log Q(z)
// ndtri_centre  4e-16   z from p - 1/2
//
// Sources: NIST DLMF 7.12, 7.17; M. J. Wichura, Algorithm AS 241, Appl. Statist. 37
// (1988) 477.
#pragma once

#include <cmath>
#include <cstring>
#include <limits>

#include "simd.hpp"
#include "twofold.hpp"

namespace rsb {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double sqrt_2pi = 2.5066282746310007;
constexpr double log_sqrt_2pi = 0.9189385332046728;

inline double log1mexp(double x) {
    return x > -ln2 ? std::log(-std::expm1(x)) : std::log1p(-std::exp(x));
}

// A Chebyshev sum for (1 + 2x) erfcx(x) in (x - 3.75)/(x + 3.75), x = z/sqrt 2, of
// degree 27, truncated at 5e-21. It is one chain of dependent steps: N of them run side
// by side, each with the operations of one alone.
template <class V, int N>
RSB_INLINE void mills(const V (&z)[N], V (&out)[N]) {
    static constexpr double c[] = {
        1.1775789345674017, -0.004590054580646478, -0.08424913336651792,
        0.05920993999819189, -0.026658668435305753, 0.009074997670705265,
        -0.002413163540417608, 0.0004907758365258086, -6.916973302501207e-05,
        4.13902798607301e-06, 7.74038306619849e-07, -2.1886401049234397e-07,
        1.076499946567091e-08, 4.521959811218287e-09, -7.754400208831351e-10,
        -6.318088340886684e-11, 2.86879501093067e-11, 1.9455868545777347e-13,
        -9.65469674843344e-13, 3.25254814814874e-14, 3.3478119482868056e-14,
        -1.864562880419313e-15, -1.2507950530688648e-15, 7.418235256624044e-17,
        5.068148904796111e-17, -2.2370566594359995e-18, -2.187342944303018e-18,
        2.6766327399258762e-20};
    V x[N];
    V t[N];
    V b1[N];
    V b2[N];
    for (int i = 0; i < N; ++i) {
        x[i] = z[i] * 0.7071067811865476;
        t[i] = (x[i] - 3.75) / (x[i] + 3.75);
        b1[i] = b2[i] = spread(0, x[i]);
    }
    for (int k = 27; k > 0; --k) {
#pragma GCC unroll 4
        for (int i = 0; i < N; ++i) {
            const V b = 2 * t[i] * b1[i] - b2[i] + c[k];
            b2[i] = b1[i];
            b1[i] = b;
        }
    }
    for (int i = 0; i < N; ++i)
        out[i] = 1.2533141373155003 *
                 ((t[i] * b1[i] - b2[i] + c[0]) / (1 + 2 * x[i]));
}
inline double mills(double z) {
    const double given[] = {z};
    double out[1];
    mills(given, out);
    return out[0];
}

// exp(-z^2/2), |z| < 1e150. The rounding of the square would be z^2 1e-16 of the
// result.
inline double exp_half_square(double z) {
    const double hi = z * z;
    const double lo = std::fma(z, z, -hi);
    return std::exp(-0.5 * hi) * (1 - 0.5 * lo);
}

inline double upper_tail(double z, double m) {
    return exp_half_square(z) / sqrt_2pi * m;
}
inline double upper_tail(double z) { return upper_tail(z, mills(z)); }

// 2 P(Z <= z) - 1 for |z| < 1/16, within 2e-16
inline double centred_twice(double z) {
    const double v = z * z;
    const double rest = 1 + v * (-1 / 6. + v * (1 / 40. + v * (-1 / 336. + v / 3456)));
    return 0.7978845608028654 * z * rest;
}

// |z| < 1/16: log1p(2 P - 1) - log 2, by the series of 2 P - 1, so that 0 has the
// logarithm of 1/2 and no step beside it. z > 0: log1p(-Q); -1 <= z <= 0: log P; below: -z^2/2 + log(M/sqrt(2 pi)), two terms
// of one sign. The argument of every logarithm stays away from 1, so nothing cancels.
inline double log_ndtr_from(double z, double m) {
    if (!(z < 38.6)) return z >= 38.6 ? -0.0 : z;
    if (std::fabs(z) < 0.0625) return std::log1p(centred_twice(z)) - ln2;
    if (z > 0) return std::log1p(-upper_tail(z, m));
    if (z >= -1) return std::log(upper_tail(z, m));
    if (z < -1e150) return z < -1.8e154 ? -inf : -0.5 * z * z;
    return -0.5 * z * z + std::log(m / sqrt_2pi);
}
// P(Z <= z) itself, and the slope of its logarithm, phi/P
inline double ndtr_from(double z, double m) {
    if (!(std::fabs(z) < 39)) return z == z ? double(z > 0) : z;
    const double tail = upper_tail(std::fabs(z), m);
    return z < 0 ? tail : 1 - tail;
}
inline double log_ndtr_slope(double z) {
    if (!(z < 39)) return z == z ? 0 : z;
    if (z > 0) return exp_half_square(z) / (sqrt_2pi * (1 - upper_tail(z)));
    return z < -1e150 ? -z : 1 / mills(-z);
}

// 0 for the z whose mills log_ndtr_from does not ask for: infinity would raise a flag
inline double mills_place(double z) {
    const double size = std::fabs(z);
    return size <= 1e150 ? size : 0;
}
inline double log_ndtr(double z) { return log_ndtr_from(z, mills(mills_place(z))); }
inline double ndtr(double z) { return ndtr_from(z, mills(mills_place(z))); }

// Of many: as many at a time as registers hold
constexpr int normal_block = 4 * native_lanes;
template <class F>
RSB_INLINE void by_mills(const double (&z)[normal_block], double (&out)[normal_block],
                         F from) {
    native at[4];
    native m[4];
    double places[normal_block];
    for (int i = 0; i < normal_block; ++i) places[i] = mills_place(z[i]);
    std::memcpy(at, places, sizeof at);
    mills(at, m);
    for (int i = 0; i < normal_block; ++i)
        out[i] = from(z[i], m[i / native_lanes][i % native_lanes]);
}
inline void log_ndtr_block(const double (&z)[normal_block],
                           double (&out)[normal_block]) {
    by_mills(z, out, log_ndtr_from);
}
inline void ndtr_block(const double (&z)[normal_block], double (&out)[normal_block]) {
    by_mills(z, out, ndtr_from);
}

// p/q, polynomials of degrees M - 1 and N in x with q(0) = 1
template <int M, int N>
double rational(const double (&p)[M], const double (&q)[N], double x) {
    double above = p[M - 1];
    double below = q[N - 1];
    for (int i = M - 2; i >= 0; --i) above = above * x + p[i];
    for (int i = N - 2; i >= 0; --i) below = below * x + q[i];
    return above / (below * x + 1);
}

// From q = p - 1/2, |q| <= 0.425: z/q = sqrt(2 pi) + v (c + v E(v)), v = q^2, two terms
// of Taylor's series, c = (2 pi)^(3/2)/6, and a rational function (6e-17).
inline Sum2 ndtri_centre(Sum2 q) {
    static constexpr double p[] = {
        12.45581149035967, 493.1553166643623, 7372.6072994952665, 51956.73606980751,
        175869.25815926155, 258149.1210680181, 119482.07794847748, 330.56290106508953};
    static constexpr double d[] = {
        47.10909808733677, 876.0345836322524, 8190.822404362241, 40637.635331569945,
        103726.01541708606, 120837.35468759804, 46565.86332326996};
    const double v = q.hi * q.hi;
    const double c = v * (2.6249349909537365 + v * rational(p, d, 0.180625 - v));
    const Sum2 lead = two_prod(q.hi, sqrt_2pi);
    const double low = q.hi * -1.8328579980459167e-16 + q.lo * (sqrt_2pi + 3 * c);
    return fast_two_sum(lead.hi, lead.lo + (low + q.hi * c));
}

// z >= 0 with log Q(z) = log_q <= log 0.075: r = sqrt(-2 log q) less a slowly varying
// function of r, for which there are four rational functions (minimax, below 2e-17 r).
// They are small where z is, so that z = hi + lo is good to 0.2 ulp. Beyond r = 39:
// Newton on the series of log M.
inline Sum2 ndtri_tail(Sum2 log_q) {
    static constexpr double p[][7] = {
        {0.0017907040990755478, 0.2113212962072543, 0.19360349741719818,
         0.05622037149684628, 0.0053606302501986594, 0.00011060959375044689,
         -1.5069061801018207e-08},
        {-0.005057343855334414, 0.09029524818421729, 0.03955522130232869,
         0.005404038386189022, 0.0002697373006495242, 4.067479972902795e-06,
         2.48434458796175e-10},
        {-0.004800174744774725, 0.030927701196113263, 0.0081029796624354,
         0.0006892067693894308, 2.184806587367764e-05, 2.034469621610027e-07,
         5.705995501352947e-12},
        {-0.0028443794827474134, 0.009182614362974968, 0.0010721776780590142,
         4.100927576627004e-05, 5.892481543843276e-07, 2.501969894357029e-09,
         2.5490367228779612e-14}};
    static constexpr double d[][5] = {
        {1.2190008882613075, 0.5350072902381604, 0.1004354909486314,
         0.007287551886448689, 0.00013149521855001183},
        {0.613159133961942, 0.1349509006686682, 0.012939526016498322,
         0.0005245281984714159, 6.950604632584911e-06},
        {0.3533026507505658, 0.04604353414603841, 0.002692726416478908,
         6.78058715039805e-05, 5.496805543275973e-07},
        {0.16280134573351848, 0.009783003333809388, 0.000264224030490957,
         3.078430310715348e-06, 1.1556746056343398e-08}};
    static constexpr double start[] = {2.25, 4, 8, 17};
    static constexpr double less[] = {0.84375, 0.59375, 0.375, 0.21875};
    const double l = -2 * log_q.hi;
    const double r = std::sqrt(l);
    if (!(r < inf)) return {1.4142135623730951 * std::sqrt(-log_q.hi), 0};
    const double r_low = (std::fma(-r, r, l) - 2 * log_q.lo) / (2 * r);
    if (r <= 39) {
        const int i = (r >= 4) + (r >= 8) + (r >= 17);
        const Sum2 z = two_sum(r, -less[i]);
        return fast_two_sum(z.hi, z.lo + (r_low + rational(p[i], d[i], r - start[i])));
    }
    double z = r - (std::log(r) + log_sqrt_2pi) / r;
    double step = 0;
    for (int i = 0; i < 3; ++i) {
        z += step;
        const double w = 1 / (z * z);
        // log Q = -z^2/2 - log(z sqrt(2 pi))
        //         + log1p(-w + 3 w^2 - 15 w^3 + 105 w^4 - 945 w^5)
        const double tail =
            std::log1p(w * (-1 + w * (3 + w * (-15 + w * (105 - 945 * w)))));
        const double square =
            0.5 * ((l - z * z) - (std::fma(z, z, -(z * z)) + 2 * log_q.lo));
        step = (square - (std::log(z) + log_sqrt_2pi - tail)) / z * (1 - w);
    }
    return fast_two_sum(z, step);
}

constexpr double log_central = -2.5902671654458267;  // log 0.075
constexpr double log_upper = -0.07796154146971186;   // log 0.925

// p - 1/2 = expm1(log p + log 2)/2: no digits lost near p = 1/2
inline Sum2 beyond_half(double log_p) {
    const Sum2 t = two_sum(log_p, ln2);
    const double q = 0.5 * std::expm1(t.hi);
    return {q, (0.5 + q) * (t.lo + ln2_low)};
}
// log 0 = -inf gives z = inf
inline double log_rest(double log_p) { return std::log(-std::expm1(log_p)); }

inline Sum2 ndtri_exp_two(double log_p) {
    if (!(log_p <= 0)) return {nan, 0};
    if (log_p < log_central) return -ndtri_tail({log_p, 0});
    if (log_p > log_upper) return ndtri_tail({log_rest(log_p), 0});
    return ndtri_centre(beyond_half(log_p));
}

// The scores of the first `count`, each to its place: in arrays, several at a time
inline void central_scores(const Sum2 (&q)[64], int count, const int (&place)[64],
                           double (&out)[64]) {
    double hi[64];
    double lo[64];
    double z[64];
    for (int k = 0; k < 64; ++k) {
        hi[k] = k < count ? q[k].hi : 0;
        lo[k] = k < count ? q[k].lo : 0;
    }
    for (int k = 0; k < count; ++k) z[k] = ndtri_centre({hi[k], lo[k]}).hi;
    for (int k = 0; k < count; ++k) out[place[k]] = z[k];
}

// Of many: those of one regime after another, as a branch that is guessed wrong costs
// as much as a score. The places are listed without a branch.
constexpr int score_block = 64;
inline void ndtri_exp_block(const double (&log_p)[score_block],
                            double (&out)[score_block]) {
    int low[score_block];
    int high[score_block];
    int middle[score_block];
    int lows = 0;
    int highs = 0;
    int middles = 0;
    for (int i = 0; i < score_block; ++i) {
        const double l = log_p[i];
        out[i] = nan;
        low[lows] = high[highs] = middle[middles] = i;
        lows += l < log_central;
        highs += (l > log_upper) & (l <= 0);
        middles += (l >= log_central) & (l <= log_upper);
    }
    double log_q[score_block];
    Sum2 q[score_block];
    for (int k = 0; k < highs; ++k) log_q[k] = log_rest(log_p[high[k]]);
    for (int k = 0; k < middles; ++k) q[k] = beyond_half(log_p[middle[k]]);
    for (int k = 0; k < lows; ++k) out[low[k]] = -ndtri_tail({log_p[low[k]], 0}).hi;
    for (int k = 0; k < highs; ++k) out[high[k]] = ndtri_tail({log_q[k], 0}).hi;
    central_scores(q, middles, middle, out);
}

inline Sum2 ndtri_two(double p) {
    if (!(p >= 0 && p <= 1)) return {nan, 0};
    if (std::fabs(p - 0.5) <= 0.425) return ndtri_centre(two_sum(p, -0.5));
    const double q = p < 0.5 ? p : 1 - p;
    const Sum2 z = ndtri_tail(q > 0 ? log_two(q) : Sum2{-inf, 0});
    return p < 0.5 ? -z : z;
}

inline double ndtri_exp(double log_p) { return ndtri_exp_two(log_p).hi; }
inline double ndtri(double p) { return ndtri_two(p).hi; }

// Of many: the central ones together
inline void ndtri_block(const double (&p)[score_block], double (&out)[score_block]) {
    int middle[score_block];
    int outer[score_block];
    int middles = 0;
    int outers = 0;
    for (int i = 0; i < score_block; ++i) {
        const bool central = std::fabs(p[i] - 0.5) <= 0.425;
        middle[middles] = outer[outers] = i;
        middles += central;
        outers += !central;
    }
    Sum2 q[score_block];
    for (int k = 0; k < middles; ++k) q[k] = two_sum(p[middle[k]], -0.5);
    central_scores(q, middles, middle, out);
    for (int k = 0; k < outers; ++k) out[outer[k]] = ndtri(p[outer[k]]);
}

}  // namespace rsb
