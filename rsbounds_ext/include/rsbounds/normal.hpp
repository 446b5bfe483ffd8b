// Log-space normal functions.
//
// mills      M(z) = Q(z)/phi(z) for z >= 0 (Q = upper tail): a Chebyshev sum for
//            (1 + 2x) erfcx(x) in (x - 3.75)/(x + 3.75), x = z/sqrt 2, degree 27; truncation
//            5e-21, rounding about 4e-16 relative.
// log_ndtr   z > 0: log1p(-Q); -1 <= z <= 0: log P; below: -z^2/2 + log(M/sqrt(2 pi)), a sum of
//            terms of one sign. Every logarithm's argument stays away from 1, so the relative
//            error is at most 1.2e-15 for all z. exp(-z^2/2) is formed from the exact square.
// ndtri_tail z >= 0 with log Q(z) = log_q: the rational functions of Wichura (1988, AS 241) in
//            sqrt(-log q), to sqrt(-log q) = 27; beyond, Newton on the asymptotic series of
//            log M. Relative error at most 1e-15.
// ndtri_exp  log p -> z. Near log p = -log 2 the argument of the central branch is
//            p - 1/2 = expm1(log p + log 2)/2 with log 2 in two parts.
// Sources: NIST DLMF 7.12; M. J. Wichura, Appl. Statist. 37 (1988) 477.
#pragma once

#include <cmath>
#include <limits>

#include "twofold.hpp"

namespace rsb {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double sqrt_2pi = 2.5066282746310002, log_sqrt_2pi = 0.9189385332046728;

inline double log1mexp(double x) {
    return x > -ln2 ? std::log(-std::expm1(x)) : std::log1p(-std::exp(x));
}

inline double mills(double z) {
    static constexpr double c[] = {
        1.1775789345674017, -0.004590054580646478, -0.08424913336651792, 0.05920993999819189,
        -0.026658668435305753, 0.009074997670705265, -0.002413163540417608,
        0.0004907758365258086, -6.916973302501207e-05, 4.13902798607301e-06,
        7.74038306619849e-07, -2.1886401049234397e-07, 1.076499946567091e-08,
        4.521959811218287e-09, -7.754400208831351e-10, -6.318088340886684e-11,
        2.86879501093067e-11, 1.9455868545777347e-13, -9.65469674843344e-13,
        3.25254814814874e-14, 3.3478119482868056e-14, -1.864562880419313e-15,
        -1.2507950530688648e-15, 7.418235256624044e-17, 5.068148904796111e-17,
        -2.2370566594359995e-18, -2.187342944303018e-18, 2.6766327399258762e-20};
    const double x = z * 0.7071067811865476;
    const double t = (x - 3.75) / (x + 3.75), t2 = 2 * t;
    double b1 = 0, b2 = 0;
    for (int k = 27; k > 0; --k) {
        const double b = t2 * b1 - b2 + c[k];
        b2 = b1;
        b1 = b;
    }
    return 1.2533141373155003 * ((t * b1 - b2 + c[0]) / (1 + 2 * x));
}

// exp(-z^2/2) with the square exact: |z| < 1e150
inline double exp_half_square(double z) {
    const double hi = z * z, lo = std::fma(z, z, -hi);
    return std::exp(-0.5 * hi) * (1 - 0.5 * lo);
}

inline double upper_tail(double z) { return exp_half_square(z) / sqrt_2pi * mills(z); }

inline double log_ndtr(double z) {
    if (!(z < 38.6)) return z >= 38.6 ? -0.0 : z;
    if (z > 0) return std::log1p(-upper_tail(z));
    if (z >= -1) return std::log(upper_tail(-z));
    if (z < -1e150) return z < -1.8e154 ? -inf : -0.5 * z * z;
    return -0.5 * z * z + std::log(mills(-z) / sqrt_2pi);
}

inline double ndtri_centre(double q) {  // q = p - 1/2, |q| <= 0.425
    const double r = 0.180625 - q * q;
    return q *
           (((((((2509.0809287301226727 * r + 33430.575583588128105) * r +
                 67265.770927008700853) * r + 45921.953931549871457) * r +
               13731.693765509461125) * r + 1971.5909503065514427) * r +
             133.14166789178437745) * r + 3.387132872796366608) /
           (((((((5226.495278852854561 * r + 28729.085735721942674) * r +
                 39307.89580009271061) * r + 21213.794301586595867) * r +
               5394.1960214247511077) * r + 687.1870074920579083) * r +
             42.313330701600911252) * r + 1.0);
}

inline double ndtri_tail(double log_q) {  // z >= 0, log Q(z) = log_q < log 0.075...
    const double r = std::sqrt(-log_q);
    if (r <= 5) {
        const double x = r - 1.6;
        return (((((((7.7454501427834140764e-4 * x + 0.0227238449892691845833) * x +
                     0.24178072517745061177) * x + 1.27045825245236838258) * x +
                   3.64784832476320460504) * x + 5.7694972214606914055) * x +
                 4.6303378461565452959) * x + 1.42343711074968357734) /
               (((((((1.05075007164441684324e-9 * x + 5.475938084995344946e-4) * x +
                     0.0151986665636164571966) * x + 0.14810397642748007459) * x +
                   0.68976733498510000455) * x + 1.6763848301838038494) * x +
                 2.05319162663775882187) * x + 1.0);
    }
    if (r <= 26) {
        const double x = r - 5;
        return (((((((2.01033439929228813265e-7 * x + 2.71155556874348757815e-5) * x +
                     0.0012426609473880784386) * x + 0.026532189526576123093) * x +
                   0.29656057182850489123) * x + 1.7848265399172913358) * x +
                 5.4637849111641143699) * x + 6.6579046435011037772) /
               (((((((2.04426310338993978564e-15 * x + 1.4215117583164458887e-7) * x +
                     1.8463183175100546818e-5) * x + 7.868691311456132591e-4) * x +
                   0.0148753612908506148525) * x + 0.13692988092273580531) * x +
                 0.59983220655588793769) * x + 1.0);
    }
    if (!(r < inf)) return r;
    double z = 1.4142135623730951 * r;
    for (int i = 0; i < 3; ++i) {
        const double w = 1 / (z * z);
        // log Q = -z^2/2 - log(z sqrt(2 pi)) + log1p(-w + 3 w^2 - 15 w^3 + 105 w^4)
        const double tail = std::log1p(w * (-1 + w * (3 + w * (-15 + 105 * w))));
        z += ((-log_q - 0.5 * z * z) - (std::log(z) + log_sqrt_2pi - tail)) / z * (1 - w);
    }
    return z;
}

constexpr double log_central = -2.5902671654458267;  // log 0.075

inline double ndtri_exp(double log_p) {
    if (!(log_p <= 0)) return nan;
    if (log_p < log_central) return -ndtri_tail(log_p);
    if (log_p > -0.07796154146971186) {  // p > 0.925
        return ndtri_tail(std::log(-std::expm1(log_p)));  // log 0 = -inf gives z = inf
    }
    return ndtri_centre(0.5 * std::expm1((log_p + ln2) + ln2_low));
}

inline double ndtri(double p) {
    if (!(p >= 0 && p <= 1)) return nan;
    if (std::fabs(p - 0.5) <= 0.425) return ndtri_centre(p - 0.5);
    return p < 0.5 ? -ndtri_tail(std::log(p)) : ndtri_tail(std::log(1 - p));
}

}  // namespace rsb
