// The nodes of the integral in contour.hpp, four at a time. Derived in
// docs/theory/off-centre-ball.md, "Quadrature"; tests/special/test_ball.py tries the
// borders. With v = q^2
//   log E = -[mu (log1p v + v) + beta v (1 + (3 + v)/(1 + v)^2)] = -2 c2 v + v^2 P(v),
//   T     = 2 [mu (q - atan q) + beta q v (2 + v)/(1 + v)^2]     = q v S(v),
//   P = sum (mu/(n + 2) + beta (2 n + 5)) (-v)^n,
//   S = 2 sum (mu/(2 n + 3) + beta (n + 2)) (-v)^n.
//
// c2 < 350: AnyNodes, the functions of simd.hpp at half integers times the step of
// contour.hpp, to the end.
//
// c2 >= 350: TableNodes. With a step of kappa/sqrt(c2), e^(-2 c2 v) is the same at
// every call, a table. What is left of E is e^x, x = v^2 P; x and T are small where the
// table is not. So short polynomials do, with the terms that count for 1e-17 beside the
// table's entry (Orders). 16 nodes, or 12 from c2 = 2e4 on:
//   kappa    aliasing                          the first node left out
//   77/256   e^-43 at 350, e^-52 at 2e4        e^-52 (integers), e^-49 (halves)
//   43/128   e^-42 at 2e4, e^-44 at infinity   e^-38, e^-35
// Half integers serve near the pole, where that e^-35 is at most 1/200 of itself in the
// tail: the quotient's 1/4 times the step.
#pragma once

#include <iterator>
#include <utility>

#include "simd.hpp"
#include "twofold.hpp"

namespace rsb {

struct Node {
    vec v, lead, rest, sin;  // v, E cos T in two parts, E q sin T
};

RSB_INLINE Sum2 exact_sum(vec a) { return two_sum(a[0], a[2]) + two_sum(a[1], a[3]); }

constexpr vec halves = {0.5, 1.5, 2.5, 3.5};

struct AnyNodes {
    static constexpr bool integers = false;  // q = (k + 1/2) step
    double mu, beta, step;
    RSB_INLINE Sum2 leads(vec first) const { return exact_sum(first); }
    template <class F>
    RSB_INLINE void each(F use) const {
        for (int k = 0;; k += lanes) {
            const vec q = (halves + double(k)) * step;
            const vec v = q * q;
            const LogAtan la = log1p_atan(q, v);
            const vec i1 = 1.0 / (1.0 + v);
            const vec i2 = i1 * i1;
            const vec exponent =
                mu * (la.log1p + v) + beta * v * (1.0 + (3.0 + v) * i2);
            const vec angle = 2.0 * (mu * la.defect + beta * q * v * (2.0 + v) * i2);
            vec e = exp_neg(-exponent);
            const SinCos sc = sincos(angle, e);
            const vec c = e * sc.cos;
            const vec zero = {};
            use(Node{v, k == 0 ? c : zero, k == 0 ? zero : c, e * (q * sc.sin)},
                k == 0);
            // stop by the next node's exponent, extrapolated: what lies beyond is below
            // 1e-17 of the sum
            if (!(2 * exponent[lanes - 1] - exponent[lanes - 2] < 40)) break;
        }
    }
};

// exp(-2 (kappa k)^2) at k = 1, 2, ... or 1/2, 3/2, ...; halves_low: what the first
// four leave out; total: of the first four, and half the one at 0
struct Sixteen {
    static constexpr double kappa = 0x1.34p-2;
    static constexpr int vectors = 4;
    static constexpr vec at_integers[] = {
        {0.8344864938746059, 0.4849279853846237, 0.19623379748221237,
         0.05529794504615489},
        {0.010851325749369665, 0.0014828432114607597, 0.0001411062628134363,
         9.350524453063455e-06},
        {4.3148358150858835e-07, 1.3865361708822975e-08, 3.1026783578171626e-10,
         4.834826938011188e-12},
        {5.246428204618691e-14, 3.964470212293717e-16, 2.0861484431872694e-18,
         7.644408403052229e-21}};
    static constexpr vec at_halves[] = {
        {0.9557731544996355, 0.6655695614056678, 0.3227533065457781,
         0.10898997988781946},
        {0.02562955517900875, 0.004196953805390979, 0.00047859254958792065,
         3.8004611909952075e-05},
        {2.1015769408969737e-06, 8.09269012481506e-08, 2.1700970269368025e-09,
         4.052322647509247e-11},
        {5.269476907349271e-13, 4.771661402968608e-15, 3.0089180221720123e-17,
         1.321264348534194e-19}};
    static constexpr vec halves_low = {-4.05742094782632e-17, 1.7035939448532492e-17,
                                       1.7894452460223038e-17, -4.897978367494888e-18};
    static constexpr Sum2 total = {2.070946221787597, 4.866431897105811e-17};
};
struct Twelve {
    static constexpr double kappa = 0x1.58p-2;
    static constexpr int vectors = 3;
    static constexpr vec at_integers[] = {
        {0.7979510631289964, 0.405419870646715, 0.13115544314703928,
         0.027015942480265117},
        {0.0035432879080340945, 0.0002959002122515459, 1.5733908731181192e-05,
         5.326972955014612e-07},
        {1.1483568690593213e-08, 1.5762524280470687e-10, 1.3776128336776715e-12,
         7.666216973502981e-15}};
    static constexpr vec at_halves[] = {
        {0.9451354750207381, 0.6017922351499091, 0.2439785301306736, 0.062980942666889},
        {0.010351879741726399, 0.0010833824473421316, 7.219329885048652e-05,
         3.0631234127793196e-06},
        {8.275316592959947e-08, 1.423499294132548e-09, 1.5591302934607567e-11,
         1.0873267660650737e-13}};
    static constexpr vec halves_low = {-8.332640106089001e-18, -1.994139379443771e-17,
                                       -1.24911493115257e-18, 8.827503120198966e-19};
    static constexpr Sum2 total = {1.8615423194030158, -5.573333195451423e-17};
};

// Numbers of coefficients, a line for each four nodes: of P, of S, of e^x, of the sine,
// of the cosine
struct Orders {
    int p, s, exp, sin, cos;
};
struct From350 : Sixteen {
    static constexpr Orders orders[] = {
        {7, 7, 7, 6, 6},
        {7, 8, 10, 9, 9},
        {7, 8, 11, 11, 12},
        {5, 5, 10, 12, 12}};
};
struct From1200 : Sixteen {
    static constexpr Orders orders[] = {
        {5, 5, 6, 5, 5},
        {6, 6, 8, 7, 7},
        {5, 6, 8, 8, 8},
        {3, 3, 6, 8, 8}};
};
struct From2e4 : Twelve {
    static constexpr Orders orders[] = {
        {4, 4, 5, 4, 4},
        {4, 4, 5, 5, 5},
        {3, 3, 5, 5, 5}};
};
struct From6e4 : Twelve {
    static constexpr Orders orders[] = {
        {3, 3, 4, 3, 4},
        {3, 3, 4, 4, 4},
        {2, 3, 4, 4, 4}};
};

// Taylor's, sin T/T and cos T in T^2
static constexpr double exp_series[] = {
    1.0, 1.0, 0.5, 0.16666666666666666, 0.041666666666666664, 0.008333333333333333,
    0.001388888888888889, 0.0001984126984126984, 2.48015873015873e-05,
    2.7557319223985893e-06, 2.755731922398589e-07};
static constexpr double sin_series[] = {
    1.0, -0.16666666666666666, 0.008333333333333333, -0.0001984126984126984,
    2.7557319223985893e-06, -2.505210838544172e-08, 1.6059043836821613e-10,
    -7.647163731819816e-13, 2.8114572543455206e-15, -8.22063524662433e-18,
    1.9572941063391263e-20, -3.868170170630684e-23};
static constexpr double cos_series[] = {
    1.0, -0.5, 0.041666666666666664, -0.001388888888888889, 2.48015873015873e-05,
    -2.755731922398589e-07, 2.08767569878681e-09, -1.1470745597729725e-11,
    4.779477332387385e-14, -1.5619206968586225e-16, 4.110317623312165e-19,
    -8.896791392450574e-22};

// the coefficients of P and of S, four at a time
static constexpr vec p_mu[] = {
    {1 / 2., -1 / 3., 1 / 4., -1 / 5.},
    {1 / 6., -1 / 7., 1 / 8., -1 / 9.}};
static constexpr vec p_beta[] = {{5, -7, 9, -11}, {13, -15, 17, -19}};
static constexpr vec s_mu[] = {
    {2 / 3., -2 / 5., 2 / 7., -2 / 9.},
    {2 / 11., -2 / 13., 2 / 15., -2 / 17.}};
static constexpr vec s_beta[] = {{4, -6, 8, -10}, {12, -14, 16, -18}};

template <class Table, bool far>
struct TableNodes {
    static constexpr bool integers = far;
    static constexpr int most = (Table::orders[1].s + lanes - 1) / lanes;
    double step;
    double p[1 + lanes * most], s[lanes * most];
    RSB_INLINE TableNodes(double mu, double beta, double step) : step(step) {
        // p[0], the first term of x: what the rounding of the step leaves between 2 c2
        // v and the table's exponent
        const double square = step * step;
        p[0] = std::fma(-(2 * mu + 4 * beta), square, 2 * Table::kappa * Table::kappa) /
               square;
        for (int n = 0; n < most; ++n) {
            const vec a = mu * p_mu[n] + beta * p_beta[n];
            const vec b = mu * s_mu[n] + beta * s_beta[n];
            for (int i = 0; i < lanes; ++i) {
                p[1 + lanes * n + i] = a[i];
                s[lanes * n + i] = b[i];
            }
        }
    }
    RSB_INLINE Sum2 leads(vec) const { return Table::total; }
    template <class F>
    RSB_INLINE void each(F use) const {
        each(use, std::make_index_sequence<Table::vectors>());
    }
    template <class F, std::size_t... k>
    RSB_INLINE void each(F use, std::index_sequence<k...>) const {
        (use(at<k>(), k == 0), ...);
    }
    template <std::size_t k>
    RSB_INLINE Node at() const {
        constexpr Orders n = Table::orders[k];
        static_assert(n.exp <= int(std::size(exp_series)) &&
                      n.sin <= int(std::size(sin_series)) &&
                      n.cos <= int(std::size(cos_series)) && n.p < 1 + lanes * most &&
                      n.s <= lanes * most);
        const vec q = (halves + ((integers ? 0.5 : 0) + lanes * k)) * step;
        const vec v = q * q;
        const vec x = v * polynomial<n.p + 1>(p, v);
        const vec angle = q * v * polynomial<n.s>(s, v);
        const vec square = angle * angle;
        const vec g = integers ? Table::at_integers[k] : Table::at_halves[k];
        const vec more = x * polynomial<n.exp - 1>(exp_series + 1, x);
        const vec less = square * polynomial<n.cos - 1>(cos_series + 1, square);
        // E = g (1 + more), cos T = 1 + less
        const vec e = fused(g, more, g);
        const vec sin = q * angle * polynomial<n.sin>(sin_series, square);
        if (k > 0) return {v, vec{}, fused(e, less, e), e * sin};
        const vec rest = fused(g, fused(more, less, more + less),
                               integers ? vec{} : Table::halves_low);
        return {v, g, rest, e * sin};
    }
};

}  // namespace rsb
