// The noncentral chi-square law with a whole number of degrees of freedom up to
// `central_most` and nc x < 64: no contour. Symbols as in central.hpp; h = nc/2. The
// Poisson mixture of central laws is, ordered by powers of y,
//   P(X <= x) = f y/a sum_k E_k y^k/(a + 1)_k,       E_k = e^-h sum_(j <= k) h^j/j!,
//   P(X > x) = f (H_a + y sum_k T_k y^k/(a)_(k + 1)),  T_k = e^-h sum_(j > k) h^j/j!,
// two polynomials of y with positive coefficients, which belong to the law. The first is
// taken below the mean, at x < df + nc, the second beyond. Derived, with its error, in
// docs/theory/off-centre-ball.md, "Few degrees and a small noncentrality".
//
// Error of the small tail, relative: within 3.5e-15 (program `poisson`). Source: NIST DLMF
// 8.7.1, 8.8.2.
#pragma once

#include "central.hpp"

namespace rsb {

constexpr double poisson_most = 16;     // of h y
// of nc: all coefficients are normal numbers
constexpr double poisson_least = 1e-3;
constexpr double poisson_greatest = 1e3;

inline bool poisson_law(double df, double nc) {
    return nc >= poisson_least && nc <= poisson_greatest && central_law(df, 0);
}
inline bool poisson_point(double x, double nc) { return nc * x < 4 * poisson_most; }

constexpr int most_poisson_terms = 128;

// One of the two polynomials, with as many terms as the law's points need; `first` is the
// coefficient of 1 in two doubles, 0 for the upper tail, as H_a stands there.
struct PoissonSum {
    double c[most_poisson_terms];
    int count;
    Sum2 first;
};

// (1, h, h^2/2, ...) e^-h, or a part of it
struct PoissonWeight {
    double h;
    Sum2 value;
    int k = 0;

    explicit PoissonWeight(double h) : h(h) {
        const Scaled2 e = exp_two({-h, 0});
        value = {scaled(e.value.hi, e.power), scaled(e.value.lo, e.power)};
    }
    void advance() { value = value * h / ++k; }
};

// As h y < 16 and y < a + h, y is less than (a + sqrt(a^2 + 64))/2.
inline PoissonSum poisson_lower(double a, double h) {
    PoissonSum s;
    const double most = 0.5 * (a + std::sqrt(a * a + 4 * poisson_most));
    const double y = std::fmin(most, poisson_most / h);
    PoissonWeight weight(h);
    Sum2 weights = weight.value;
    Sum2 share = {1, 0};
    double size = 1;
    int k = 0;
    s.first = weights;
    while (size * weights.hi > 1e-19 * s.first.hi && k + 1 < most_poisson_terms) {
        weight.advance();
        weights = weights + weight.value;
        ++k;
        share = share / (a + k);
        size *= y / (a + k);
        s.c[k] = value(weights * share);
    }
    s.count = k + 1;
    return s;
}

// Beyond so many terms T_k counts for nothing.
constexpr int poisson_beyond = 16;

inline PoissonSum poisson_upper(double a, double h) {
    PoissonSum s;
    PoissonWeight weight(h);
    Sum2 weights[most_poisson_terms];
    Sum2 shares[most_poisson_terms];
    Sum2 share = {1, 0};
    double size = 1;
    int k = 0;
    // term k over the first is at most 16^k/((k + 1)! (a + 1)_k)
    while (size > 1e-20 && k + poisson_beyond < most_poisson_terms) {
        share = share / (a + k);
        shares[k] = share;
        weight.advance();
        weights[k] = weight.value;
        ++k;
        size *= poisson_most / ((k + 1) * (a + k));
    }
    s.count = k + 1;
    Sum2 rest = {0, 0};
    double more[poisson_beyond];
    for (double& each : more) {
        weight.advance();
        each = weight.value.hi;
    }
    for (int j = poisson_beyond; j-- > 0;) rest.hi += more[j];
    for (; k-- > 0;) {
        rest = rest + weights[k];
        s.c[k + 1] = value(rest * shares[k]);
    }
    s.first = {0, 0};
    return s;
}

// The polynomial without `first`, over y; N points side by side
template <class V, int N>
RSB_INLINE void inner_poisson(const PoissonSum& s, const V (&y)[N], V (&out)[N]) {
    for (int i = 0; i < N; ++i) out[i] = spread(s.c[s.count - 1], y[0]);
    for (int k = s.count - 2; k > 0; --k)
#pragma GCC unroll 4
        for (int i = 0; i < N; ++i)
            out[i] = fused(out[i], y[i], spread(s.c[k], y[0]));
}

// `inner` of the polynomial, `central` that of H_a
inline CentralTail poisson_tail(bool upper, double x, double df, Sum2 first,
                                double inner) {
    CentralPoint at({x, 0}, df);
    at.upper = upper;
    return CentralTail(at, first + two_prod(at.y(), inner));
}

inline CentralTail poisson_tail(double x, double df, double nc) {
    const double a = 0.5 * df;
    const bool upper = x >= df + nc;
    const PoissonSum s =
        upper ? poisson_upper(a, 0.5 * nc) : poisson_lower(a, 0.5 * nc);
    const double y[] = {0.5 * x};
    double inner[1];
    inner_poisson(s, y, inner);
    const Sum2 first = upper ? central_sum(true, a, x) : s.first;
    return poisson_tail(upper, x, df, first, inner[0]);
}

}  // namespace rsb
