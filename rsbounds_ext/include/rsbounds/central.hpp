// The central chi-square law, nc = 0, with a whole number of degrees of freedom up to
// `central_most`: no contour. Symbols as in ball.hpp; a = mu = N/2, y = x/2. Derived,
// with its error, in docs/theory/off-centre-ball.md, "The central law".
//
// With f = y^(a - 1) e^-y/Gamma(a), the density of Y,
//   y >= a:  P(Y > y) = f H_a,  H_(b + 1) = 1 + b/y H_b  (by parts),
//            H_1 = 1,  H_(1/2) = z M(z), z = sqrt(x), M of normal.hpp,
//   y < a:   P(Y <= y) = f y/a S,  S = 1 + r_1 (1 + r_2 (1 + ...)),  r_k = y/(a + k).
// All terms are positive. f is a product in two doubles, with 1/Gamma from a table;
// where it may underflow its logarithm is a sum in two doubles.
//
// Error of the small tail, relative: within 4e-15 (program `central`). The largest of
// 75,000 points: 4.5e-16 at one degree, 3.5e-16 from two on. Sources: NIST DLMF 8.7.1,
// 8.8.2.
#pragma once

#include "ball.hpp"

namespace rsb {

// Beyond it the sums have more roundings than the contour's.
constexpr double central_most = 60;

inline bool central_law(double df, double nc) {
    return nc == 0 && df >= 1 && df <= central_most && df == std::floor(df);
}

// 1/Gamma(k/2)
inline Sum2 rgamma_half(int k) {
    static constexpr double table[][2] = {
        {0.5641895835477563, 7.66772980658294e-18}, {1.0, 0.0},
        {1.1283791670955126, 1.533545961316588e-17}, {1.0, 0.0},
        {0.7522527780636751, -2.6783794412061297e-17}, {0.5, 0.0},
        {0.30090111122547003, -1.0713517764824519e-17},
        {0.16666666666666666, 9.25185853854297e-18},
        {0.08597174606442, 6.851700501346178e-18},
        {0.041666666666666664, 2.3129646346357427e-18},
        {0.01910483245876, 3.661177940923904e-19},
        {0.008333333333333333, 1.1564823173178714e-19},
        {0.0034736059015927274, 1.0599240519808932e-19},
        {0.001388888888888889, -5.300543954373577e-20},
        {0.0005344009079373427, -3.735095462247882e-22},
        {0.0001984126984126984, 1.7209558293420705e-22},
        {7.125345439164569e-05, -4.980127282997176e-23},
        {2.48015873015873e-05, 2.1511947866775882e-23},
        {8.38275934019361e-06, 3.927447666102623e-22},
        {2.7557319223985893e-06, -1.858393274046472e-22},
        {8.823957200203801e-07, 2.3334581248953587e-24},
        {2.755731922398589e-07, 2.3767714622250297e-23},
        {8.403768762098858e-08, 2.74316549777069e-24},
        {2.505210838544172e-08, -1.448814070935912e-24},
        {7.307625010520746e-09, 9.46786324056204e-26},
        {2.08767569878681e-09, -1.20734505911326e-25},
        {5.846100008416597e-10, -8.969321658610921e-27},
        {1.6059043836821613e-10, 1.2585294588752098e-26},
        {4.330444450678961e-11, -4.250479548759746e-28},
        {1.1470745597729725e-11, 2.0655512752830745e-28},
        {2.986513414261352e-12, -1.538617676823418e-29},
        {7.647163731819816e-13, 7.03872877733453e-30},
        {1.9267828479105497e-13, 6.336115715070421e-30},
        {4.779477332387385e-14, 4.399205485834081e-31},
        {1.1677471805518484e-14, -4.765685199338056e-31},
        {2.8114572543455206e-15, 1.6508842730861433e-31},
        {6.672841031724848e-16, -3.5684567980728304e-32},
        {1.5619206968586225e-16, 1.1910679660273754e-32},
        {3.606941098229647e-17, 2.0687103720941383e-33},
        {8.22063524662433e-18, 2.2141894119604265e-34},
        {1.8497133837075115e-18, 3.69517646678499e-35},
        {4.110317623312165e-19, 1.4412973378659527e-36},
        {9.022992115646397e-20, 3.857633278113204e-36},
        {1.9572941063391263e-20, -1.3643503830087908e-36},
        {4.196740518905301e-21, 2.6690345299669135e-37},
        {8.896791392450574e-22, -7.911402614872376e-38},
        {1.8652180084023562e-22, -6.945533924414762e-39},
        {3.868170170630684e-23, -8.843177655482344e-40},
        {7.937097908095133e-24, -2.3302833982497458e-40},
        {1.6117375710961184e-24, -3.6846573564509766e-41},
        {3.239631799222503e-25, -2.0756523604038704e-41},
        {6.446950284384474e-26, -1.9330404233703465e-42},
        {1.2704438428323542e-26, -6.733019425634185e-43},
        {2.4795962632247976e-27, -1.2953730964765229e-43},
        {4.794127708801336e-28, -1.3562682511496585e-44},
        {9.183689863795546e-29, 1.4303150396787322e-45},
        {1.7433191668368497e-29, -1.053707840693439e-45},
        {3.279889237069838e-30, 1.5117542744029879e-46},
        {6.116909357322279e-31, 1.4405819143973467e-48},
        {1.1309962886447716e-31, 1.0498015412959506e-47},
        {2.0735285957024674e-32, 5.1271651627353856e-49},
        {3.7699876288159054e-33, 2.5870347832750324e-49}};
    return {table[k - 1][0], table[k - 1][1]};
}
// log Gamma(k/2), to 3e-21
inline Sum2 log_gamma_half(int k) {
    const Sum2 r = rgamma_half(k);
    return -(log_two(r.hi) + r.lo / r.hi);
}

// y^power, power at least -1/2 and a multiple of it
inline Sum2 half_power(Sum2 y, double power) {
    int n = int(std::floor(power));
    Sum2 p = {1, 0};
    if (power != n) {
        const Sum2 root = square_root(y);
        if (n < 0) return p / root;
        p = root;
    }
    for (Sum2 square = y;; square = square * square) {
        if (n % 2) p = p * square;
        n /= 2;
        if (n == 0) return p;
    }
}

// Beyond so many terms of S what is left out is below 1e-17 of it, at all
// y < a. H has fewer.
inline int central_terms(double a) { return int(12 + std::sqrt(75 * a)); }

// 1 + c (1 + rest), c_low the low part of c: its sum and product have no rounding
RSB_INLINE Sum2 outermost(double c, double c_low, double rest) {
    const Sum2 product = two_prod(c, rest);
    const Sum2 sum = two_sum(1, product.hi);
    return {sum.hi, sum.lo + (product.lo + c_low * rest)};
}

// to H_1 or H_(1/2)
inline int central_steps(double a) { return int(a - 0.5); }

// H_(a - 1) from H_1 or H_(1/2), in `h`; N of them side by side
template <class V, int N>
RSB_INLINE void inner_upper(double a, const V (&y)[N], V (&h)[N]) {
    const V one = spread(1, y[0]);
    for (int k = central_steps(a); k > 1; --k)
#pragma GCC unroll 4
        for (int i = 0; i < N; ++i)
            h[i] = fused(spread(a - k, one) / y[i], h[i], one);
}
// (S - 1)/r_1
template <class V, int N>
RSB_INLINE void inner_lower(double a, const V (&y)[N], V (&s)[N]) {
    const V one = spread(1, y[0]);
    for (int i = 0; i < N; ++i) s[i] = one;
    for (int k = central_terms(a); k > 1; --k)
#pragma GCC unroll 4
        for (int i = 0; i < N; ++i)
            s[i] = fused(y[i] / spread(a + k, one), s[i], one);
}

// H_a, y >= a, from H_(a - 1), or from H_1 or H_(1/2) where that is it
inline Sum2 central_upper(double a, double y, double inner) {
    if (central_steps(a) == 0) return {inner, 0};
    const double c = (a - 1) / y;
    return outermost(c, std::fma(-c, y, a - 1) / y, inner);
}
// S, y < a
inline Sum2 central_lower(double a, double y, double inner) {
    const double c = y / (a + 1);
    return outermost(c, std::fma(-c, a + 1, y) / (a + 1), inner);
}

inline bool from_half(double a) { return a - central_steps(a) == 0.5; }

inline Sum2 central_sum(bool upper, double a, double x) {
    const double y[] = {0.5 * x};
    double sum[] = {1};
    if (!upper) {
        inner_lower(a, y, sum);
        return central_lower(a, y[0], sum[0]);
    }
    const double z = std::sqrt(x);
    if (from_half(a)) sum[0] = z * mills(z);
    inner_upper(a, y, sum);
    return central_upper(a, y[0], sum[0]);
}

// A small tail, and what it is over the density of log x
struct SmallTail {
    bool upper;
    Sum2 p;
    double over_density;
};

// The powers and the exponential in front of the sums. x in two doubles, but H and S
// take x.hi: x.lo matters here alone.
struct CentralPoint {
    bool upper;
    double a;
    Sum2 x;

    CentralPoint() = default;
    CentralPoint(Sum2 x, double df) : upper(x.hi >= df), a(0.5 * df), x(x) {}

    double y() const { return 0.5 * x.hi; }
    // e^-y y^power/Gamma(power + 1): the density of Y for a - 1, y/a of it for a
    Sum2 log_front(double power) const {
        const Sum2 log_x = log_two(x.hi) + x.lo / x.hi;
        const Sum2 log_y = log_x - Sum2{ln2, ln2_low};
        const Sum2 minus_y = {-0.5 * x.hi, -0.5 * x.lo};
        return (log_y * power + minus_y) - log_gamma_half(int(2 * power) + 2);
    }
    Scaled2 front(double power) const {
        const Sum2 y = {0.5 * x.hi, 0.5 * x.lo};
        // where y^power and its parts are normal numbers
        if (!(y.hi > 1e-7 && y.hi < 700)) return exp_two(log_front(power));
        const Scaled2 e = exp_two(-y);
        const Sum2 rest = half_power(y, power) * rgamma_half(int(2 * power) + 2);
        return {e.value * rest, e.power};
    }

    double density_of_x() const {
        const Scaled2 f = front(a - 1);
        return scaled(0.5 * value(f.value), f.power);
    }
    double log_density() const {
        return value(log_front(a - 1) - Sum2{ln2, ln2_low});
    }
};

// Both tails, as Tail in ball.hpp: the small one, `front` times a sum, is the upper one
// where y >= a.
struct CentralTail : CentralPoint {
    Sum2 sum;

    CentralTail(CentralPoint at, Sum2 sum) : CentralPoint(at), sum(sum) {}
    CentralTail(Sum2 x, double df)
        : CentralPoint(x, df), sum(central_sum(upper, a, x.hi)) {}

    // below, y/a is in front of the sum, as y may be subnormal
    double power() const { return upper ? a - 1 : a; }
    Sum2 small_two() const {
        const Scaled2 f = front(power());
        const Sum2 p = f.value * sum;
        return {scaled(p.hi, f.power), scaled(p.lo, f.power)};
    }
    SmallTail small_tail() const {
        return {upper, small_two(), sum.hi / (upper ? y() : a)};
    }
    double small() const { return value(small_two()); }
    double log_small() const {
        // the two parts of a small logarithm would be larger than it
        const Sum2 p = small_two();
        if (p.hi > 1e-260) return std::log(p.hi) + p.lo / p.hi;
        const Sum2 exponent = log_front(power());
        const double rest = std::log(sum.hi) + sum.lo / sum.hi;
        return two_sum(exponent.hi, exponent.lo + rest).hi;
    }
    double below() const { return upper ? 1 - small() : small(); }
    double above() const { return upper ? small() : 1 - small(); }
    double log_lower() const { return upper ? std::log1p(-small()) : log_small(); }
    double log_upper() const { return upper ? log_small() : std::log1p(-small()); }
};

}  // namespace rsb
