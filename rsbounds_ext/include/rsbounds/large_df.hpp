// The central chi-square law, nc = 0, with more than `central_most` degrees of freedom,
// where z <= `uniform_reach`: no contour. Symbols as in ball.hpp; a = mu = N/2 and
// y = x/2. Derived, with its error, in docs/theory/large-df.md.
//
// With tau = y/a - 1, phi0 = -a (tau - log1p tau), z = sqrt(-2 phi0) and eta = z/sqrt a
// of the sign of tau, M of normal.hpp (NIST DLMF 8.12):
//   P(Y > y)  = e^phi0/sqrt(2 pi) (M(z) + S/sqrt a), tau >= 0,
//   P(Y <= y) = e^phi0/sqrt(2 pi) (M(z) - S/sqrt a), tau < 0,
// where S is a smooth function of eta and 1/a alone, here a polynomial.
//
// Error of the small tail, relative: within 1.7e-15 (program `large_df`). The largest
// of 40,000 points: 3.3e-16. Source: N. M. Temme, SIAM J. Math. Anal. 10 (1979) 757.
#pragma once

#include "central.hpp"

namespace rsb {

constexpr double uniform_reach = 6;  // z

inline bool uniform_law(double df, double nc) { return nc == 0 && df > central_most; }

// Four columns of coefficients, a lane each: even and odd powers side by side, as one
// chain waits twice as long
template <int N>
RSB_INLINE vec columns(const double (&c)[N][lanes], double x) {
    const auto row = [&](int i) { return vec{c[i][0], c[i][1], c[i][2], c[i][3]}; };
    const double square = x * x;
    const vec v = {square, square, square, square};
    vec even = row(N - 1 - (N - 1) % 2);
    vec odd = row(N - 1 - N % 2);
#pragma GCC unroll 16
    for (int i = N - 3 - (N - 1) % 2; i >= 0; i -= 2) even = fused(even, v, row(i));
#pragma GCC unroll 16
    for (int i = N - 3 - N % 2; i >= 0; i -= 2) odd = fused(odd, v, row(i));
    return fused(odd, vec{x, x, x, x}, even);
}

// S/sqrt(2 pi): a row for each power of eta, a column for each of 1/a, from 0 and from
// 4 on
inline double uniform_rest(double eta, double h) {
    static constexpr double low[][lanes] = {
        {-0.13298076013381088, -0.0007387820007450955,
         0.0016490669667690789, 0.0002590865930850964},
        {0.03324519003345273, -0.001385216251395242,
         -0.0010696947714376908, 9.154603759462e-05},
        {-0.005910256005947155, 0.0010554028582075217,
         0.00030782583243722876, -0.0001871793119636961},
        {0.00046173875046424826, -0.00039504315315813177,
         8.016306223691028e-07, 0.00010680492417666093},
        {0.00014072038109409234, 8.208688896718377e-05,
         -4.2833049279818014e-05, -3.0167182075022564e-05},
        {-7.131298478723654e-05, -1.6032623413803157e-07,
         2.1113401590693723e-05, -9.560830637691079e-08},
        {1.5635597897837114e-05, -7.220276889136853e-06,
         -5.090758715879701e-06, 4.421378604519775e-06},
        {-8.718678684184762e-07, 3.0515755702997085e-06,
         1.3656243698142055e-08, -2.2639184829518918e-06},
        {-7.396637961534646e-07, -6.431311964538906e-07,
         5.474354990368654e-07, 5.675280796480208e-07},
        {3.3099114885066085e-07, 1.8471335315625994e-09,
         -2.5128707887685736e-07, -1.4553512503293122e-10},
        {-7.047699552153016e-08, 5.50004925399583e-08,
         5.694945481951333e-08, -6.726650797496636e-08},
        {2.6753478885810136e-09, -2.2934779236068114e-08,
         -9.46554851670931e-11, 3.2510640816146715e-08},
        {4.093972509614586e-09, 4.7660511945454594e-09,
         -5.588408922615702e-09, -8.055526062556165e-09},
        {-1.746976213434241e-09, -2.5893540344299925e-11,
         2.500648366270953e-09, -1.5855660513807774e-10},
        {3.64772387089788e-10, -4.0010456568264053e-10,
         -5.767368466247605e-10, 1.0937985310616145e-09},
        {-1.1491265061164331e-11, 1.807334361724548e-10,
         -1.0280933351705494e-11, -3.1993121319897685e-10},
        {-2.3081350619919925e-11, -3.615358419282628e-11, 6.839167247301206e-11, 0},
        {1.0601240544769192e-11, -6.2709208110532144e-12, -1.8842174762390254e-11, 0},
        {-2.129777185473265e-12, 3.8085606557327175e-12, 0, 0},
        {-2.9105322680867363e-13, 0, 0, 0},
        {1.863321219660635e-13, 0, 0, 0}};
    static constexpr double high[][lanes] = {
        {-0.0003438305578859366, -0.00013495844603192875, 0.00022572022825885556, 0},
        {0.00031279320215163274, -2.809620533667712e-05, -0.0002310711912367474, 0},
        {-0.00011933093240635126, 0.000111411581459452, 9.115015043413945e-05, 0},
        {-5.706136558720407e-07, -8.011002006927987e-05, 1.324823713153876e-05, 0},
        {2.649164028560818e-05, 2.7309409790015356e-05, -3.698623611721025e-05, 0},
        {-1.5831859912791396e-05, 7.561800750552166e-08, 2.212341132443211e-05, 0},
        {4.538398156125422e-06, -5.4636622815761626e-06, -6.0544194126204945e-06, 0},
        {-1.8649456991394035e-09, 3.2557883812617505e-06, -1.1303571140145525e-06, 0},
        {-6.724895648540427e-07, -9.73578855205956e-07, 1.867950046305605e-06, 0},
        {3.575040484140734e-07, -2.4758147376412624e-08, -5.80291881579729e-07, 0},
        {-9.661394107128877e-08, 1.8630206439930074e-07, 0, 0},
        {-2.0185445510062302e-09, -6.308138573475681e-08, 0, 0},
        {1.5294034644854615e-08, 0, 0, 0},
        {-4.796887721461836e-09, 0, 0, 0}};
    const double square = h * h;
    const vec powers = {1, h, square, square * h};
    const vec fourth = vec{square, square, square, square} * square;
    return sum(fused(columns(high, eta), fourth, columns(low, eta)) * powers);
}

// M(z)/sqrt(2 pi), 0 <= z <= uniform_reach, z in two doubles: (5 + z) times it is a
// polynomial in r = 1/(5 + z). The slope carries what r and z lack.
inline Sum2 near_mills(Sum2 z) {
    static constexpr double rows[][lanes] = {
        {13.8589104941819, 120.31927643592168, 796.3986662426286, 3917.1185398971634},
        {13146.269820593707, 21452.104495401232,
         -37339.64685867405, -260978.03514587943},
        {-106360.43154887542, 2340042.3210472986,
         2772769.874060477, -23510755.32978874},
        {-29493964.052832913, 273649585.5244288,
         178768214.95641667, -2967506751.849507}};
    static constexpr double middle[] = {1.210028852875704, -6.587713442651611e-17};
    const Sum2 d = two_sum(z.hi, 5);
    const double r = 1 / d.hi;
    const double x = r - 0.1453125;  // exact
    const double square = x * x;
    const double fourth = square * square;
    vec c = {rows[3][0], rows[3][1], rows[3][2], rows[3][3]};
    const vec v = {fourth, fourth, fourth, fourth};
    for (int i = 2; i >= 0; --i)
        c = fused(c, v, vec{rows[i][0], rows[i][1], rows[i][2], rows[i][3]});
    const double slow = fused(c[1], x, c[0]);
    const double fast = fused(c[3], x, c[2]);
    const Sum2 p = fast_two_sum(middle[0], x * fused(fast, square, slow));
    const Sum2 m = two_prod(r, p.hi);
    const double missed = (d.lo + z.lo) - d.hi * std::fma(-r, d.hi, 1);
    const double slope = z.hi * m.hi - 1 / sqrt_2pi;
    return {m.hi, m.lo + (r * (p.lo + middle[1]) + slope * missed)};
}

// 1/sqrt(2 pi) over Gamma(a)/(sqrt(2 pi/a) (a/e)^a), of Stirling
inline double stirling_share(double h) {
    static constexpr double c[] = {
        0.3989422804014327, -0.03324519003345272, 0.001385216251393381,
        0.0010696947720585002, -9.154614331714844e-05, -0.00031278439679886366,
        2.7715414153077702e-05, 0.0002392856441980233, -6.981935613803054e-05};
    return horner(c, h);
}

// Both tails, as Tail in ball.hpp.
struct UniformExponent {
    double x, mu, inverse_root;
    Sum2 tau, phi0;

    UniformExponent() = default;
    UniformExponent(Sum2 at, Sum2 excess, double df)
        : x(at.hi), mu(0.5 * df), tau(excess / df), phi0{-inf, 0} {
        if (!(tau.hi > -0.75 && tau.hi < 1.6)) return;  // phi0 < -18 there
        inverse_root = 1 / std::sqrt(mu);
        if (tau.hi >= -0.25) {
            const Sum2 p = log1p_defect_two(tau.hi) * mu;
            // the derivative is mu tau/(1 + tau)
            const double moved = 0.5 * excess.hi * tau.lo * (df / x);
            phi0 = {-p.hi, -(p.lo + moved)};
        } else {
            const double ratio = x / df;
            const double rest = (std::fma(-ratio, df, x) + at.lo) / x;
            phi0 = (log_two(ratio) + rest - tau) * mu;
        }
    }
    bool near() const { return -2 * phi0.hi <= uniform_reach * uniform_reach; }

    bool upper() const { return tau.hi >= 0; }
    Sum2 scaled() const {  // the small tail over e^phi0
        const double square = -2 * phi0.hi;
        const double root = std::sqrt(square);
        const double low =
            (std::fma(-root, root, square) - 2 * phi0.lo) / (2 * root + 0x1p-900);
        const Sum2 m = near_mills({root, low});
        const double eta = root * inverse_root;
        const double h = inverse_root * inverse_root;
        const double s = uniform_rest(upper() ? eta : -eta, h) * inverse_root;
        const Sum2 all = fast_two_sum(m.hi, upper() ? s : -s);
        return {all.hi, all.lo + m.lo};
    }

    // the density of X over e^phi0
    double scaled_density() const {
        return stirling_share(inverse_root * inverse_root) / (inverse_root * x);
    }
    double density_of_x() const {
        const Scaled2 e = exp_two(phi0);
        return rsb::scaled(value(e.value * scaled_density()), e.power);
    }
    double log_density() const { return value(phi0 + log_two(scaled_density())); }
};

struct UniformTail : UniformExponent {
    Sum2 sum;  // the small tail over e^phi0

    UniformTail() = default;
    explicit UniformTail(UniformExponent at)
        : UniformExponent(at), sum(at.scaled()) {}

    Sum2 small_two() const {
        const Scaled2 e = exp_two(phi0);
        const Sum2 p = e.value * sum;
        return {rsb::scaled(p.hi, e.power), rsb::scaled(p.lo, e.power)};
    }
    SmallTail small_tail() const {
        const double share = stirling_share(inverse_root * inverse_root);
        return {upper(), small_two(), sum.hi * inverse_root / share};
    }
    double small() const { return value(small_two()); }
    double log_small() const {
        const Sum2 p = small_two();
        return std::log(p.hi) + p.lo / p.hi;
    }
    double below() const { return upper() ? 1 - small() : small(); }
    double above() const { return upper() ? small() : 1 - small(); }
    double log_lower() const { return upper() ? std::log1p(-small()) : log_small(); }
    double log_upper() const { return upper() ? log_small() : std::log1p(-small()); }
};

}  // namespace rsb
