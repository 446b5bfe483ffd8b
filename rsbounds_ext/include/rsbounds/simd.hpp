// Four doubles at a time, in portable vector types: AVX2 registers, or pairs of SSE2 or
// NEON ones. Eight at a time spill registers and are slower, with AVX-512 too.
// Contraction is off, so all of these round alike; only `fused` rounds once where the
// processor has the instruction for it.
//
// exp_neg     e^x to 2e-16 relative on [-700, 0]; below that, a value under 1e-304
// sincos      to 4e-16 absolute for |x| < 1e5 (x modulo pi, with pi in three parts)
// log1p_atan  log1p(q^2) to 5e-16 relative and q - atan q to 6e-16 q, for q in [0, 1e3]
//
// The errors are the largest of a million random points against quadruple precision,
// rounded up. The polynomials are fitted; docs/theory/off-centre-ball.md says what the
// integral in contour.hpp needs.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#define RSB_INLINE inline __attribute__((always_inline))
// For what few calls need: it takes its structs by value, so that the caller's own stay
// in registers.
#define RSB_RARE inline __attribute__((noinline))

namespace rsb {

typedef double vec __attribute__((vector_size(32)));
typedef std::int64_t ivec __attribute__((vector_size(32)));
constexpr int lanes = 4;

// As many as one register holds: where that is two, chains of `vec` need twice as many
// registers as there are.
#ifdef __AVX__
typedef vec native;
#else
typedef double native __attribute__((vector_size(16)));
RSB_INLINE native spread(double c, native) { return native{c, c}; }
#endif
constexpr int native_lanes = sizeof(native) / sizeof(double);

RSB_INLINE double spread(double c, double) { return c; }
RSB_INLINE vec spread(double c, vec) { return vec{c, c, c, c}; }

// a b + c
#ifdef __FP_FAST_FMA
RSB_INLINE double fused(double a, double b, double c) { return std::fma(a, b, c); }
RSB_INLINE vec fused(vec a, vec b, vec c) {
    vec r;
    for (int i = 0; i < lanes; ++i) r[i] = std::fma(a[i], b[i], c[i]);
    return r;
}
#else
RSB_INLINE double fused(double a, double b, double c) { return a * b + c; }
RSB_INLINE vec fused(vec a, vec b, vec c) { return a * b + c; }
#endif

// the polynomial with the first N coefficients of c
template <int N, class V>
RSB_INLINE V polynomial(const double* c, V x) {
    V r = spread(c[N - 1], x);
#pragma GCC unroll 16
    for (int i = N - 2; i >= 0; --i) r = fused(r, x, spread(c[i], x));
    return r;
}
template <std::size_t N, class V>
RSB_INLINE V horner(const double (&c)[N], V x) {
    return polynomial<int(N)>(&c[0], x);
}

constexpr double round_magic = 0x1.8p52;

RSB_INLINE vec exp_neg(vec x) {
    static constexpr double c[] = {
        1.0, 1.0, 0.5000000000000019, 0.1666666666666668, 0.04166666666648757,
        0.008333333333319561, 0.001388888895245379, 0.00019841269890154013,
        2.4801485333574577e-05, 2.7557240804190355e-06, 2.763269466207279e-07,
        2.5110079917407737e-08};
    x = x < -700.0 ? x * 0.0 - 700.0 : x;
    const vec t = x * 1.4426950408889634 + round_magic;
    const vec n = t - round_magic;
    const vec r = (x - n * 0x1.62e42fefa3800p-1) - n * 0x1.ef35793c76730p-45;
    const ivec bits = ((ivec)t + 1023) << 52;
    return horner(c, r) * (vec)bits;
}

struct SinCos {
    vec sin, cos;
};

// sin and cos up to a common sign (-1)^n, which is multiplied into `scale` instead
RSB_INLINE SinCos sincos(vec x, vec& scale) {
    static constexpr double s[] = {
        1.0, -0.16666666666666666, 0.008333333333333333, -0.0001984126984126967,
        2.7557319223940657e-06, -2.5052108378595385e-08, 1.6059043205799162e-10,
        -7.647127718516489e-13, 2.8102140424693567e-15, -7.98247200137459e-18};
    static constexpr double c[] = {
        1.0, -0.5, 0.04166666666666666, -0.001388888888888853, 2.480158730149253e-05,
        -2.7557319209640205e-07, 2.0876755665527946e-09, -1.1470670120398209e-11,
        4.77687121758436e-14, -1.5119729481048052e-16};
    const vec t = x * 0.3183098861837907 + round_magic;
    const vec n = t - round_magic;
    const vec r = ((x - n * 0x1.921fb54400000p+1) - n * 0x1.0b4611a600000p-33) -
                  n * 0x1.3198a2e037073p-68;
    scale = (vec)((ivec)scale ^ ((ivec)t << 63));
    const vec r2 = r * r;
    return {r * horner(s, r2), horner(c, r2)};
}

struct LogAtan {
    vec log1p;   // log1p(q^2)
    vec defect;  // q - atan(q)
};

RSB_INLINE LogAtan log1p_atan_general(vec q, vec v) {
    static constexpr double ath[] = {
        1.0, 0.3333333333333383, 0.19999999999646603, 0.14285714381354733,
        0.11111098418003659, 0.09091821836324158, 0.07656103662194594,
        0.07406530960807016};
    static constexpr double at[] = {
        1.0, -0.3333333333333312, 0.19999999999940807, -0.142857142792419,
        0.11111110744504495, -0.09090896797060963, 0.07692045115329452,
        -0.0666294933513016, 0.058468600441315986, -0.05035019199400293,
        0.037963116386953384, -0.017803024570372427};
    const vec m0 = v + 1.0;
    const ivec k =
        (((ivec)m0 + (0x3ff0000000000000LL - 0x3fe6a09e667f3bcdLL)) >> 52) - 1023;
    const vec m = (vec)((ivec)m0 - (k << 52));
    const vec kd = __builtin_convertvector(k, vec);
    // for k = 0 the numerator is v itself: no rounding of 1 + v for small v
    const vec f = (k == 0 ? v : m - 1.0) / (m + 1.0);
    const vec log1p = kd * 0.6931471805599453 + 2.0 * f * horner(ath, f * f);
    vec t = q;
    vec root;
    for (int halving = 0; halving < 2; ++halving) {
        for (int i = 0; i < lanes; ++i) root[i] = std::sqrt(1.0 + t[i] * t[i]);
        t = t / (1.0 + root);
    }
    return {log1p, q - 4.0 * t * horner(at, t * t)};
}

RSB_INLINE LogAtan log1p_atan(vec q, vec v) {
    static constexpr double l13[] = {
        1.0, -0.4999999999999758, 0.33333333332829695, -0.24999999958678515,
        0.1999999823239658, -0.1666662147523399, 0.14284968502723258,
        -0.1249168805701892, 0.110469549180362, -0.09653534021275867,
        0.07784927955598879, -0.049425544046511206, 0.01735348668522654};
    static constexpr double a13[] = {
        0.3333333333333333, -0.19999999999998835, 0.14285714285471995,
        -0.11111111091231783, 0.09090908240509275, -0.07692285949663345,
        0.06666307832522822, -0.058783533201551205, 0.05232283052628204,
        -0.04595141512335672, 0.03719057219219671, -0.02366782257510076,
        0.008321798154733233};
    if (v[lanes - 1] <= 0.27) return {v * horner(l13, v), q * v * horner(a13, v)};
    return log1p_atan_general(q, v);
}

RSB_INLINE double sum(vec a) { return (a[0] + a[2]) + (a[1] + a[3]); }

}  // namespace rsb
