// Numbers as unevaluated sums of two doubles, hi + lo with |lo| at most half an ulp of
// hi. The exponent of a tail needs them: at log p = -700 its relative error is
// multiplied by 700.
//
// Exact: two_sum, fast_two_sum (|a| >= |b|, or a = 0), two_prod (unless its low part
// underflows). Sums and products of Sum2 have relative errors of a few 2^-104, unless a
// sum cancels. t - log1p t is good to 5e-20 (2.6e-20 was the largest error of 600,000
// points), exp_two to 7e-17 (3e-17). Proved in docs/theory/quadrature-proof.md,
// "Twofold arithmetic". Sources: T. J. Dekker, A floating-point technique for extending
// the available precision, Numer. Math. 18 (1971) 224; M. Joldes, J.-M. Muller, V.
// Popescu, Tight and rigorous error bounds for basic building blocks of double-word
// arithmetic, ACM Trans. Math. Softw. 44 (2017) 15.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "simd.hpp"

namespace rsb {

struct Sum2 {
    double hi, lo;
    Sum2 operator-() const { return {-hi, -lo}; }
};

RSB_INLINE Sum2 two_sum(double a, double b) {
    const double s = a + b;
    const double t = s - a;
    return {s, (a - (s - t)) + (b - t)};
}
RSB_INLINE Sum2 fast_two_sum(double a, double b) {
    const double s = a + b;
    return {s, b - (s - a)};
}
RSB_INLINE Sum2 two_prod(double a, double b) {
    const double p = a * b;
    return {p, std::fma(a, b, -p)};
}

// x to its 26 leading bits
RSB_INLINE double leading(double x) {
    const double c = 0x8000001p0 * x;
    return c - (c - x);
}

RSB_INLINE Sum2 operator+(Sum2 a, double b) {
    const Sum2 s = two_sum(a.hi, b);
    return fast_two_sum(s.hi, s.lo + a.lo);
}
RSB_INLINE Sum2 operator+(Sum2 a, Sum2 b) {
    const Sum2 s = two_sum(a.hi, b.hi);
    return fast_two_sum(s.hi, s.lo + (a.lo + b.lo));
}
RSB_INLINE Sum2 operator-(Sum2 a, Sum2 b) { return a + -b; }
RSB_INLINE Sum2 operator*(Sum2 a, double b) {
    const Sum2 p = two_prod(a.hi, b);
    return fast_two_sum(p.hi, fused(a.lo, b, p.lo));
}
RSB_INLINE Sum2 operator*(Sum2 a, Sum2 b) {
    const Sum2 p = two_prod(a.hi, b.hi);
    return fast_two_sum(p.hi, fused(a.hi, b.lo, fused(a.lo, b.hi, p.lo)));
}
RSB_INLINE Sum2 operator/(Sum2 a, double b) {
    const double q = a.hi / b;
    return fast_two_sum(q, (std::fma(-q, b, a.hi) + a.lo) / b);
}
RSB_INLINE Sum2 operator/(Sum2 a, Sum2 b) {
    const double q = a.hi / b.hi;
    const Sum2 rest = a - b * q;
    return fast_two_sum(q, rest.hi / b.hi);
}
RSB_INLINE double value(Sum2 a) { return a.hi + a.lo; }

inline Sum2 square_root(double x) {  // x >= 0, subnormal or not
    if (x < 1e-280) {
        if (!(x > 0)) return {x, 0};
        const Sum2 r = square_root(x * 0x1p400);
        return {r.hi * 0x1p-200, r.lo * 0x1p-200};
    }
    const double r = std::sqrt(x);
    return {r, 0.5 * (std::fma(-r, r, x) / r)};
}

inline Sum2 square_root(Sum2 x) {  // x normal
    const double r = std::sqrt(x.hi);
    return {r, 0.5 * ((std::fma(-r, r, x.hi) + x.lo) / r)};
}

constexpr double ln2 = 0.6931471805599453;
constexpr double ln2_low = 2.3190468138462996e-17;

// log 2 times an integer below 2^11 in size
RSB_INLINE Sum2 times_ln2(double k) {
    return two_sum(k * 0x1.62e42fefa3800p-1, k * 0x1.ef35793c76730p-45);
}

// With s = f/(2 + f) and w = 2 s^2 (1/3 + s^2/5 + s^4/7 + ...), -0.25 <= f <= 0.5,
//   log1p f = s (2 + w),  f - log1p f = s (f - w).
// w's lower part may be 3e-3 of the upper one.
struct LogSeries {
    Sum2 s, w;
};
RSB_INLINE LogSeries log_series(double f) {
    static constexpr double c[] = {
        0.2, 0.14285714285714285, 0.1111111111111111, 0.09090909090909091,
        0.07692307692307693, 0.06666666666666667, 0.058823529411764705,
        0.05263157894736842, 0.047619047619047616, 0.043478260869565216, 0.04,
        0.037037037037037035};
    constexpr Sum2 third = {0.3333333333333333, 1.850371707708594e-17};
    const Sum2 d = fast_two_sum(2, f);
    const double q = f / d.hi;
    const Sum2 s = {q, (std::fma(-q, d.hi, f) - q * d.lo) / d.hi};
    Sum2 s2 = two_prod(q, q);
    s2.lo = fused(2 * q, s.lo, s2.lo);
    const double v = s2.hi;
    if (v < 4e-3) {
        const double low = fused(v, polynomial<8>(c, v), third.lo);
        const Sum2 w = two_prod(2 * v, third.hi);
        return {
            s,
            {w.hi, fused(2 * v, low, fused(2 * s2.lo, fused(2, low, third.hi), w.lo))}};
    }
    const Sum2 fifth =
        fast_two_sum(0.2, fused(v, polynomial<11>(c + 1, v), -1.1102230246251566e-17));
    const Sum2 more = s2 * fifth;
    const Sum2 sum = fast_two_sum(third.hi, more.hi);
    const Sum2 w = s2 * Sum2{sum.hi, sum.lo + (more.lo + third.lo)};
    return {s, {2 * w.hi, 2 * w.lo}};
}

// log x, x > 0
inline Sum2 log_two(double x) {
    int k;
    double m = std::frexp(x, &k);
    if (m < 0.75) m *= 2, --k;
    const LogSeries l = log_series(m - 1);
    return times_ln2(k) + l.s * (l.w + 2);
}

// t - log1p t, t >= -0.25
RSB_INLINE Sum2 log1p_defect_two(double t) {
    if (t < 0.5) {
        const LogSeries l = log_series(t);
        return l.s * (-l.w + t);
    }
    int k;  // 1 + t = 2^k (1 + f), f exact
    std::frexp((1 + t) * 0.6666666666666666, &k);
    const double power = std::ldexp(1, k);
    const double f = (t - (power - 1)) / power;
    const LogSeries l = log_series(f);
    return (two_sum(t, -f) - times_ln2(k)) + l.s * (-l.w + f);
}

// e^a = 2^power (hi + lo), to 7e-17
struct Scaled2 {
    Sum2 value;
    double power;
};
RSB_INLINE Scaled2 exp_two(Sum2 a) {
    static constexpr double c[] = {
        0.5, 0.16666666666666666, 0.041666666666666664, 0.008333333333333333,
        0.001388888888888889, 0.0001984126984126984, 2.48015873015873e-05,
        2.7557319223985893e-06, 2.755731922398589e-07, 2.505210838544172e-08,
        2.08767569878681e-09, 1.6059043836821613e-10};
    constexpr double magic = 0x1.8p52;
    const double n = (a.hi * 1.4426950408889634 + magic) - magic;
    const Sum2 r =
        two_sum(a.hi - n * 0x1.62e42fefa3800p-1, a.lo - n * 0x1.ef35793c76730p-45);
    const double p = horner(c, r.hi);
    const Sum2 s = fast_two_sum(1, r.hi);
    return {fast_two_sum(s.hi, s.lo + (r.lo + r.hi * (r.lo + r.hi * p))), n};
}

// the product of value and 2^power, power an integer: one rounding, two where it is
// subnormal
RSB_INLINE double scaled(double value, double power) {
    if (!(power > -960)) {
        if (!(power > -1900)) return power == power ? 0 : power;
        value *= 0x1p-960;
        power += 960;
    }
    const std::int64_t bits = (std::int64_t(power) + 1023) << 52;
    double two;
    std::memcpy(&two, &bits, sizeof two);
    return value * two;
}

}  // namespace rsb
