// The radius from the Rényi divergence for two noise levels ([S] Theorem 14,
// corrected). The formulas and their derivation are in docs/theory/renyi.md and
// rsbounds/renyi.py; here they are arranged to keep their digits.
//
// The search is over 1/alpha = max(y, 0) + e^-t, y = 1 - sigma0^2/sigma1^2: the t are
// the whole open range of alpha, and sigma_alpha^2 = sigma1^2 u with u = 1 - alpha y,
// which is alpha e^-t where y > 0. Every value on the way is a lower bound, rounded
// down by its error, so any t gives a sound radius.
#pragma once

#include "scores.hpp"

namespace rsb {

constexpr double renyi_gain_error = 1e-12;
constexpr double renyi_loss_error = 1e-13;

inline double log_cosh(double x) {
    x = std::fabs(x);
    if (x >= 1) return x + std::log1p(std::exp(-2 * x)) - ln2;
    const double sinh = std::sinh(x / 2);
    return std::log1p(2 * sinh * sinh);
}

// log(1 + x), or log(1 + x) - x where `less_x`, without cancellation for small x
inline double log1p_less(double x, double one_plus_x, bool less_x) {
    if (!less_x || std::fabs(x) >= 0.25) {
        const double log = std::fabs(x) < 0.5 ? std::log1p(x) : std::log(one_plus_x);
        return less_x ? log - x : log;
    }
    const double r = x / (2 + x);
    const double square = r * r;
    double tail = 2.0 / 21;
    for (int n = 19; n > 2; n -= 2) tail = tail * square + 2.0 / n;
    return r * square * tail - x * r;
}

// As a function of t a lower bound of R^2/sigma1^2, or a number that is not positive.
class RenyiSquare {
    static constexpr double denormal = std::numeric_limits<double>::denorm_min();
    double dim, y, rho, square, mass, rest, v, log_cosh_v, log_y, log_rho;

    double cost(double alpha, double s) const {  // c/alpha
        if (v == inf) return s > 0 ? ln2 / s : inf;
        const double shrunk = s == 0 ? 0 : log_cosh(s * v) / s;
        if (alpha > 0.5) return (log_cosh_v - shrunk) / alpha;
        const double step = alpha * v;
        if (v >= 1) {
            const double log =
                std::log1p(std::expm1(-2 * step) / (std::exp(2 * s * v) + 1));
            return (step + log) / alpha - shrunk;
        }
        const double sinh = std::sinh(step / 2);
        return -std::log1p(2 * sinh * sinh - std::tanh(v) * std::sinh(step)) / alpha -
               shrunk;
    }
    double gain(double alpha, double s) const {  // B/alpha
        const double c = cost(alpha, s);
        if (rest == 0) return c;
        // a product below the normal numbers is up to half a step too large
        const double lost = std::fmax(-mass * std::expm1(-alpha * c) - denormal, 0.0);
        const double log = lost < 0.5 ? std::log1p(-lost)
                                      : std::log(rest + mass * std::exp(-alpha * c));
        return -log / alpha;
    }
    double loss(double alpha, double s,
                double u) const {  // L/(alpha s), not negative; NaN stays
        double value;
        if (alpha > 0.5) {
            const bool small = std::fabs(rho) < 0.25;
            const double part = s != 0  ? log1p_less(s * rho, u / square, small) / s
                                : small ? 0
                                        : rho;
            value = (part - log_rho) / alpha;
        } else {
            value =
                (log1p_less(-alpha * y, u, std::fabs(y) < 0.25) / alpha - log_y) / s;
        }
        return value <= 0 ? 0 : value;
    }

  public:
    RenyiSquare(double p_a, double p_b, double sigma0, double sigma1, double dim)
        : dim(dim) {
        const double ratio = sigma0 / sigma1;
        y = (sigma1 - sigma0) / sigma1 * (1 + ratio);
        rho = (sigma1 - sigma0) / sigma0 * (1 + 1 / ratio);
        square = ratio * ratio;  // 1 - y = 1/(1 + rho)
        mass = p_a + p_b;
        rest = std::fmax((1 - p_a) - p_b, 0.0);
        const bool far = p_a > 1e10 * p_b;
        v = 0.5 * (far ? std::log(p_a) - std::log(p_b) : std::log1p((p_a - p_b) / p_b));
        log_cosh_v = log_cosh(v);
        log_y = log1p_less(-y, square, std::fabs(y) < 0.25);
        log_rho = log1p_less(rho, 1 / square, std::fabs(rho) < 0.25);
    }

    double operator()(double t) const {
        // in u and s = 1 - alpha nothing that counts may cancel: rho may be 1e280
        const double inverse = std::exp(-t);
        const double alpha = 1 / (std::fmax(y, 0.0) + inverse);
        const double s = y > 0 ? alpha * (inverse - square) : 1 - alpha;
        const double u = y > 0 ? alpha * inverse : 1 - alpha * y;
        // bounds of the rounding errors: v up to 373 costs 1e-12, the rest a few units
        const double least = rounded(gain(alpha, s), renyi_gain_error, -inf);
        const double excess =
            least - rounded(dim / 2 * loss(alpha, s, u), renyi_loss_error, inf);
        // Where nothing certifies, what is left of the divergence at distance 0 leads
        // to a peak that is narrower than the search's steps. With u, and for alpha < 1
        // without the division by alpha, it would tend to 0 at one end of the range and
        // look better there.
        return excess > 0 ? 2 * u * excess - denormal : std::fmax(alpha, 1.0) * excess;
    }
};

// The largest value found: on a grid, then by golden section around its best point. NaN
// never counts.
template <class F>
double largest(F f, double low, double high, double step) {
    constexpr double golden = 0.6180339887498949;
    double best = low;
    double value = -inf;
    for (double t = low; t <= high; t += step)
        if (const double at = f(t); at > value) value = at, best = t;
    low = std::fmax(best - step, low);
    high = std::fmin(best + step, high);
    double left = high - golden * (high - low);
    double right = low + golden * (high - low);
    double at_left = f(left);
    double at_right = f(right);
    for (int i = 0; i < 40; ++i) {  // the bracket shrinks to 2e-9
        value = std::fmax(value, std::fmax(at_left, at_right));
        if (at_left > at_right) {
            high = right;
            right = left;
            at_right = at_left;
            at_left = f(left = high - golden * (high - low));
        } else {
            low = left;
            left = right;
            at_left = at_right;
            at_right = f(right = low + golden * (high - low));
        }
    }
    return std::fmax(value, std::fmax(at_left, at_right));
}

inline double renyi_radius(double p_a, double p_b, double sigma0, double sigma1,
                           double dim) {
    const bool valid = p_a >= 0 && p_a <= 1 && p_b >= 0 && p_b <= 1 && sigma0 > 0 &&
                       sigma0 < inf && sigma1 > 0 && sigma1 < inf && dim >= 1 &&
                       dim < inf;
    if (!valid) return nan;
    if (p_a <= p_b) return 0;
    if (p_a == 1) return inf;
    const double ratio = sigma0 / sigma1;
    if (!(ratio > 1e-140 && ratio < 1e140))
        return 0;  // its square times alpha <= e^40 is finite
    const double square =
        largest(RenyiSquare(p_a, p_b, sigma0, sigma1, dim), -30, 40, 0.25);
    if (!(square > 0)) return 0;
    const double radius =
        std::fmin(sigma1 * std::sqrt(square), std::numeric_limits<double>::max());
    return rounded(radius, 4 * std::numeric_limits<double>::epsilon(), -inf);
}

}  // namespace rsb
