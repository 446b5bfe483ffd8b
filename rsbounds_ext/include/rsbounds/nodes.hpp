// The nodes of the integral in contour.hpp, four at a time, v = q^2.
//
//   log E = -[mu (log1p v + v) + beta v (1 + (3 + v)/(1 + v)^2)] = -2 c2 v + v^2 P(v),
//   T     = 2 [mu (q - atan q) + beta q v (2 + v)/(1 + v)^2]     = q v S(v),
//   P = sum (mu/(n + 2) + beta (2 n + 5)) (-v)^n,  S = 2 sum (mu/(2 n + 3) + beta (n + 2)) (-v)^n.
//
// any c2        from the functions of simd.hpp; the step that contour.hpp gives, nodes to the end.
// c2 >= 350     16 nodes of step kappa/sqrt(c2), so that e^{-2 c2 v} is a table: what is left of E is
//               e^x, x = v^2 P, and x and T are small where the table is not. Their polynomials and
//               those of e^x, sin T, cos T stop where what they omit is below 1e-17, the table's
//               entry included: with t = sqrt(c2) q that is, for c2 = 350 and for 2e4,
//                 t        2        3       4         t        2        3       4
//                 table    3.4e-4   1.5e-8  1.3e-14
//                 x       < .12    < .56   < 1.7            < 2e-3   < .011  < .033
//                 T       < .85    < 2.9   < 6.8            < .12    < .39   < .91
//               kappa = .3 leaves an aliasing of e^-42 at c2 = 350, e^-55 at infinity, and cuts
//               at e^-45.
#pragma once

#include "simd.hpp"

namespace rsb {

struct Node {
    vec v, cos, rest, sin;  // v, E cos T in two parts, E q sin T
    bool last;           // what lies beyond these four is below 1e-17 of the sum
};

constexpr vec halves = {0.5, 1.5, 2.5, 3.5};

struct AnyNodes {
    static constexpr int limit = 1 << 20;
    double mu, beta, step;
    RSB_INLINE Node at(int k) const {
        const vec q = (halves + double(k)) * step, v = q * q;
        const LogAtan la = log1p_atan(q, v);
        const vec i1 = 1.0 / (1.0 + v), i2 = i1 * i1;
        const vec exponent = mu * (la.log1p + v) + beta * v * (1.0 + (3.0 + v) * i2);
        const vec angle = 2.0 * (mu * la.defect + beta * q * v * (2.0 + v) * i2);
        vec e = exp_neg(-exponent);
        const SinCos sc = sincos(angle, e);
        // the next node's exponent, extrapolated
        const bool last = !(2 * exponent[lanes - 1] - exponent[lanes - 2] < 40);
        return {v, e * sc.cos, vec{}, e * (q * sc.sin), last};
    }
};

constexpr double kappa = 0.3;
static constexpr vec gaussian[4] = {  // exp(-2 (kappa (k + 1/2))^2)
    {0.9559974818331, 0.6669768108584744, 0.32465246735834974, 0.11025052530448523},
    {0.02612140985391824, 0.004317840007633081, 0.0004979554215032739, 4.0065297392951096e-05},
    {2.2490559670323463e-06, 8.808179196460577e-08, 2.406722436301053e-09, 4.587962487139299e-11},
    {6.101936677605337e-13, 5.661995516948962e-15, 3.665433395601051e-17, 1.6555226620987754e-19}};

constexpr vec gaussian_low = {-5.3177263628265353e-17, 2.1932828006690338e-17,
                              -9.10471120916123e-18, -4.331145610647016e-18};

// Taylor's, sin T/T and cos T in T^2
static constexpr double exp_series[] = {
    1.0, 1.0, 0.5, 0.16666666666666666, 0.041666666666666664, 0.008333333333333333,
    0.001388888888888889, 0.0001984126984126984, 2.48015873015873e-05, 2.7557319223985893e-06};
static constexpr double sin_series[] = {
    1.0, -0.16666666666666666, 0.008333333333333333, -0.0001984126984126984,
    2.7557319223985893e-06, -2.505210838544172e-08, 1.6059043836821613e-10,
    -7.647163731819816e-13, 2.8114572543455206e-15, -8.22063524662433e-18, 1.9572941063391263e-20, -3.868170170630684e-23};
static constexpr double cos_series[] = {
    1.0, -0.5, 0.041666666666666664, -0.001388888888888889, 2.48015873015873e-05,
    -2.755731922398589e-07, 2.08767569878681e-09, -1.1470745597729725e-11,
    4.779477332387385e-14, -1.5619206968586225e-16, 4.110317623312165e-19, -8.896791392450574e-22};

// Numbers of coefficients: of P, of S, of e^x, of the sine and of the cosine.
template <int P, int S, int X, int Sin, int Cos>
struct TableNodes {
    static constexpr int limit = 16;
    double step;
    vec p[P + 1], s[S];
    RSB_INLINE TableNodes(double mu, double beta, double step) : step(step) {
        // the exponent's first term less the table's: the rounding of the step
        const double lead = 2 * mu + 4 * beta, square = step * step;
        p[0] = vec{} + (2 * kappa * kappa - lead * square) / square;
        for (int n = 0; n < P; ++n)
            p[n + 1] = vec{} + (n % 2 ? -1 : 1) * (mu * (1.0 / (n + 2)) + beta * (2 * n + 5));
        for (int n = 0; n < S; ++n)
            s[n] = vec{} + (n % 2 ? -1 : 1) * (mu * (2.0 / (2 * n + 3)) + beta * (2 * n + 4));
    }
    RSB_INLINE Node at(int k) const {
        const vec q = (halves + double(k)) * step, v = q * q;
        const vec x = v * polynomial<P + 1>(p, v), angle = q * v * polynomial<S>(s, v), square = angle * angle;
        const vec g = gaussian[k / lanes], more = x * polynomial<X - 1>(exp_series + 1, x);
        const vec less = square * polynomial<Cos - 1>(cos_series + 1, square);
        const vec d = polynomial<Sin>(sin_series, square);
        // E = g (1 + more), cos T = 1 + less: the first four are g and a rest that is small
        const vec rest = g * (more + (less + more * less)) + (k == 0 ? gaussian_low : vec{});
        return {v, g, rest, (g + g * more) * (q * angle * d), false};
    }
};

}  // namespace rsb
