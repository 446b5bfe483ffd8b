// The noncentral chi-square law with fewer than one degree of freedom, mu = N/2 < 1/2.
// Symbols as in ball.hpp: h = nc/2, y = x/2. Derived in docs/theory/small-df.md.
//
// nc x >= 64: the contour of ball.hpp as it stands.
//
// nc x < 64: there it would need 1/sqrt(mu) nodes. With c_k the Poisson(h) weights and
// g_a = y^a e^-y/Gamma(a + 1) few positive terms count in
//   P(X <= x) = sum_k g_(mu+k) (c_0 + ... + c_k),
//   P(X > x)  = sum_k c_k Q(mu + k, y),   Q(a + 1, y) = Q(a, y) + g_a,
//   density of Y = sum_k c_k g_(mu+k-1).
// The lower tail is summed where y < h, else the upper one; where that exceeds 1/2, the
// other one too, so that the smaller tail never is 1 - p.
//
// Error of the smaller tail, relative: within 4e-14 (proved on that page); 1.3e-15 was
// the largest of 3,000 random points. Sources: NIST DLMF 5.7.1, 8.7.1, 8.9.2; N. L.
// Johnson, S. Kotz, N. Balakrishnan, Continuous Univariate Distributions 2 (1995),
// chapter 29.
#pragma once

#include "large_df.hpp"
#include "poisson.hpp"
#include "quantile.hpp"

namespace rsb {

// (1/Gamma(1 + a) - 1)/a for 0 <= a <= 1/2, by the series of 1/Gamma
inline double rgamma_defect(double a) {
    static constexpr double c[] = {
        0.5772156649015329, -0.6558780715202539, -0.04200263503409524,
        0.1665386113822915, -0.04219773455554434, -0.009621971527876973,
        0.0072189432466631, -0.001165167591859065, -0.00021524167411495098,
        0.0001280502823881162, -2.013485478078824e-05, -1.2504934821426706e-06,
        1.133027231981696e-06, -2.056338416977607e-07, 6.1160951044814156e-09,
        5.002007644469223e-09, -1.18127457048702e-09, 1.0434267116911005e-10,
        7.782263439905071e-12};
    double sum = c[18];
    for (int k = 17; k >= 0; --k) sum = sum * a + c[k];
    return sum;
}

// Q(mu, y) e^y/mu, given power = y^mu: Q itself falls with mu, to mu E_1(y).
inline double small_gamma_q(double mu, double y, double log_y, double power) {
    const double g = rgamma_defect(mu);
    const double rgamma = 1 + mu * g;
    if (y < 0.75) {
        // multiplied out from 1 - Q = y^mu (1 + G)(1 + mu T), 1 + G = 1/Gamma(1 + mu),
        // T = sum_n (-y)^n/(n! (mu + n)): what cancels is at most 5 times what is left
        double term = 1;
        double t = 0;
        for (int n = 1; n < 40 && std::fabs(term) > 1e-17; ++n) {
            term *= -y / n;
            t += term / (mu + n);
        }
        return -(std::expm1(mu * log_y) / mu + power * (g + rgamma * t)) * std::exp(y);
    }
    // Legendre's continued fraction
    const double b = y - 1 - mu;
    const int last = 6 + int(104 / y);
    double f = b + 2 * (last + 1);
    for (int k = last; k > 0; --k) f = b + 2 * k - k * (k - mu) / f;
    return power * rgamma / f;
}

// The three sums without their common factor e^-(h + y) y^mu/Gamma(mu + 1), or
// e^-(h + y) alone (upper), and scaled so that nothing overflows while hy is moderate.
inline double lower_sum(double mu, double h, double y) {
    const double scale = std::fmax(1, h);
    double factor = 1;
    double weight = 1;
    double weights = 1;
    double total = 1;
    for (int k = 1;; ++k) {
        factor *= scale * y / (mu + k);
        weight *= h / scale / k;
        weights = weights / scale + weight;
        const double term = factor * weights;
        total += term;
        if (!(term > 1e-17 * total)) return total;
    }
}

// from k = 1 on, given q = e^y Q(mu, y) and g = e^y g_mu
inline double upper_sum(double mu, double h, double y, double q, double g) {
    const double scale = std::fmax(1, y);
    double weight = 1;
    double total = 0;
    for (int k = 1;; ++k) {
        q = (q + g) / scale;
        g *= y / scale / (mu + k);
        weight *= h * scale / k;
        total += weight * q;
        if (!(weight * q > 1e-17 * total)) return total;
    }
}

inline double density_sum(double mu, double hy) {
    double term = hy;
    double total = mu;
    for (int k = 1;; ++k) {
        total += term;
        if (!(term > 1e-17 * total)) return total;
        term *= hy / ((k + 1) * (mu + k));
    }
}

// The tails of X, as Tail in ball.hpp; power = y^mu. The low parts of h and y matter in
// the exponential alone.
struct Mixture {
    double mu, h, y, power, rgamma, low, outer;
    double x;  // 2 y, and exact where y is subnormal
    Sum2 log_x;
    double p, log_p, q, log_q;  // P(X <= x), P(X > x)

    Mixture(double mu, Sum2 h, Sum2 y, Sum2 log_x, double power)
        : mu(mu),
          h(h.hi),
          y(y.hi),
          power(power),
          rgamma(1 + mu * rgamma_defect(mu)),
          low(h.lo + y.lo),
          outer(std::exp(-h.hi) * std::exp(-y.hi)),
          x(2 * y.hi),
          log_x(log_x) {
        if (outer > 0) outer *= std::exp(-low);  // `low` is small there
        const bool lower_first = y.hi < h.hi;
        if (lower_first) sum_lower();
        if (!lower_first || p > 0.5) sum_upper();
        if (!lower_first && q > 0.5) sum_lower();
        const bool upper_is_smaller = lower_first ? p > 0.5 : !(q > 0.5);
        if (upper_is_smaller) {
            p = 1 - q;
            log_p = std::log1p(-q);
        } else {
            q = 1 - p;
            log_q = std::log1p(-p);
        }
    }

    double log_y() const { return log_x.hi + (log_x.lo - ln2); }
    double log_outer() const { return -(h + y) - low; }
    // outer * sum, in two steps where `outer` underflows
    double by_outer(double sum) const {
        if (outer > 1e-290) return outer * sum;
        const double root = std::exp(-0.5 * h) * std::exp(-0.5 * y);
        return root > 0 ? root * std::exp(-low) * (root * sum) : 0;
    }
    void sum_lower() {
        const double sum = rgamma * lower_sum(mu, h, y);
        p = by_outer(power * sum);
        log_p = p > 1e-290 ? std::log(p) : log_outer() + (mu * log_y() + std::log(sum));
    }
    void sum_upper() {
        const double base = small_gamma_q(mu, y, log_y(), power);
        const double unit = h < mu ? mu : 1;
        const double sum =
            mu / unit * base + upper_sum(mu, h, y, mu * base, power * rgamma) / unit;
        q = by_outer(unit * sum);
        log_q =
            q > 1e-290 ? std::log(q) : log_outer() + (std::log(unit) + std::log(sum));
    }
    double below() const { return p; }
    double above() const { return q; }
    double log_lower() const { return log_p; }
    double log_upper() const { return log_q; }
    double density_of_x() const {
        const double sum = power * (rgamma * density_sum(mu, h * y)) / x;
        return sum < inf ? by_outer(sum) : std::exp(log_density());
    }
    double log_density() const {
        const Sum2 l = log_two(std::exp2(-mu) * rgamma * density_sum(mu, h * y));
        const Sum2 power = two_sum(mu, -1);
        const Sum2 m = two_prod(power.hi, log_x.hi);
        const Sum2 e = two_sum(-h, -y);
        const Sum2 a = two_sum(l.hi, m.hi);
        const Sum2 b = two_sum(a.hi, e.hi);
        const double rest = power.hi * log_x.lo + power.lo * log_x.hi - low;
        return b.hi + (b.lo + a.lo + e.lo + l.lo + m.lo + rest);
    }
};

inline Mixture ncx2_mixture(double x, double df, double nc) {
    const double mu = 0.5 * df;
    const double power = std::pow(x, mu) * std::exp2(-mu);
    Mixture m{mu, {0.5 * nc, 0}, {0.5 * x, 0}, log_two(x), power};
    m.x = x;  // 2 y would round where y is subnormal
    return m;
}

inline bool ncx2_domain(double df, double nc) {
    return df >= least_df && df <= most_df && nc >= 0 && nc <= 1e60;
}

// Its density comes from the contour, which needs no tail for it.
struct PoissonPoint {
    double x, df, nc;

    double below() const { return poisson_tail(x, df, nc).below(); }
    double above() const { return poisson_tail(x, df, nc).above(); }
    double log_lower() const { return poisson_tail(x, df, nc).log_lower(); }
    double log_upper() const { return poisson_tail(x, df, nc).log_upper(); }
    double density_of_x() const { return ncx2_tail(x, df, nc).density_of_x(); }
    double log_density() const { return ncx2_tail(x, df, nc).log_density(); }
};

// f of the tails of X: an object with below, above, log_lower, log_upper, log_density,
// score
template <class F>
double with_ncx2_tail(double x, double df, double nc, F f) {
    if (central_law(df, nc)) return f(CentralTail({x, 0}, df));
    if (poisson_point(x, nc) && poisson_law(df, nc)) return f(PoissonPoint{x, df, nc});
    if (uniform_law(df, nc)) {
        const UniformExponent at({x, 0}, ncx2_excess(x, df, 0), df);
        if (at.near()) return f(UniformTail(at));
    }
    return df < 1 && nc * x < 64 ? f(ncx2_mixture(x, df, nc)) : f(ncx2_tail(x, df, nc));
}

// Where a monotone f changes its sign in [low, high], low > 0; NaN where it does not.
// Ridders's method in log x, as quantiles may have any magnitude, and a secant through
// its last two points, whose end counts if f is within `room` there. Else the ends come
// together: where f is a step, the bisection finds the step.
template <class F>
double log_root(F f, double low, double high, double room) {
    double f_low = f(low);
    double f_high = f(high);
    if (f_low == 0) return low;
    if (f_high == 0) return high;
    if (!((f_low < 0) != (f_high < 0))) return nan;
    const bool rising = f_low < 0;
    const auto put = [&](double x) {
        const double value = f(x);
        const bool below = (value < 0) == rising;
        (below ? low : high) = x;
        (below ? f_low : f_high) = value;
        return value;
    };
    for (double last = 0, f_last = 0;;) {
        const double a = f_low;
        const double b = f_high;
        const double half = 0.5 * (std::log(high) - std::log(low));
        const double middle = std::sqrt(low) * std::sqrt(high);
        if (!(middle > low && middle < high)) break;
        const double m = put(middle);
        const double part = m / std::sqrt(m * m - a * b);
        if (m == 0) return middle;
        double x = middle * std::exp(rising ? -half * part : half * part);
        x = std::fmax(std::fmin(x, high * (1 - 4e-16)), low * (1 + 4e-16));
        if (!(x > low && x < high)) continue;  // beside a subnormal end
        const double value = put(x);
        const double step = value * ((x - last) / (value - f_last));
        if (value == 0) return x;
        // what a secant leaves is about the product of both errors, times at most
        // sqrt(c2)
        const double before = std::fabs(x - last);
        const double after = std::fabs(step);
        if (after <= before && before / x * (after / x) < 1e-24 &&
            std::fabs(f(x - step)) <= room)
            return x - step;
        last = x;
        f_last = value;
    }
    return std::fabs(f_low) < std::fabs(f_high) ? low : high;
}

// Where the lower tail is e^log_p and the upper one e^log_q, by the smaller of the two:
// up to `high`. Much of the law may lie below the smallest double. There the lower tail
// goes as the `power` of the point, which says which double (0, mostly) is the nearest.
template <class With>
double small_quantile(double log_p, double log_q, double high, double power,
                      With with) {
    const auto f = [=](double x) {
        return with(x, [=](const auto& t) {
            return log_p < log_q ? t.log_lower() - log_p : log_q - t.log_upper();
        });
    };
    constexpr double least = std::numeric_limits<double>::denorm_min();
    if (!(f(least) >= 0))
        return log_root(f, least, high, 1e-15 * (4 - std::fmin(log_p, log_q)));
    const double from = with(least, [](const auto& t) { return t.log_lower(); });
    return least * std::exp((log_p - from) / power);
}

// P(|Z| > s + 2 + this) < e^log_q, as |Z| is at most |s + N(0, 1)| in law
inline double normal_reach(double log_q) { return std::sqrt(-2 * log_q); }

// where the solve of quantile.hpp serves for df < 1 too, as sqrt(nc) + z is large
inline bool far_from_zero(double z, double nc) {
    return nc > 1e4 && z > -0.5 * std::sqrt(nc);
}

inline double small_df_quantile(Sum2 z, double log_p, double log_q, double df,
                                double nc) {
    if (!(ncx2_domain(df, nc) && log_p <= 0 && log_q <= 0)) return nan;
    if (far_from_zero(z.hi, nc)) return ncx2_quantile(z, df, nc);
    const double far = std::sqrt(nc) + normal_reach(log_q);
    if (far >= half_space) return far * far;
    return small_quantile(
        log_p, log_q, (far + 2) * (far + 2) * (1 + 1e-15), 0.5 * df,
        [=](double x, auto f) { return with_ncx2_tail(x, df, nc, f); });
}

}  // namespace rsb
