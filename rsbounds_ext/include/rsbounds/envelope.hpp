// The exact two-point certificate of input-dependent smoothing, and its search along a radius.
// Derived in docs/theory/two-point.md; [S] is Sukenik, Kuvshinov, Guennemann, Intriguing
// properties of input-dependent randomized smoothing, ICML 2022.
//
// x0 is smoothed with sigma0 and a point at distance a with sigma1 = k sigma0. In units of sigma0
// (alpha = a/sigma0) the worst case over all sets of P0-score b is a ball (k < 1) or the
// complement of one (k > 1), [S] Theorem 2, and its P1-score is X with
//   k < 1: s0 = alpha/(1 - k^2), G(s0, u0) =  b, X =  G(k s0, (u0 + alpha)/k)
//   k > 1: s0 = alpha/(k^2 - 1), G(s0, u0) = -b, X = -G(k s0, (u0 - alpha)/k)
// X - b is the gain, the only quantity used: certified at a iff
//   gain(-z_a) + gain(z_b) < gap = z_a - z_b   (P1(A) > P1(B) for both worst cases; equal gains
//   when z_b = -z_a), for the smallest and the largest sigma1 that the envelope allows.
// The gap is an argument of its own: for close scores their difference has lost its digits.
//
// The gain is G at one point minus G at another, (ds, du) apart with
//   du = +-(u0 |1 - k| + alpha)/k, ds = -+alpha/(1 + k).
// Where the difference would lose digits it is integrated instead: three Gauss-Legendre nodes on
// the segment of G_u du + G_s ds, whose relative error is below 1e-13 for |ds| + |du| <=
// 0.01 sqrt(c2), since G varies on the scale sqrt(c2). So the gain has a small relative error
// down to radius 0 and in every dimension; `error` bounds it.
//
// The search runs on the gain of one branch: secant inside a bracket. A radius is returned only
// after the certificate was evaluated there with the error bound added: NaN never passes. Lengths
// are first multiplied by the power of 2 that brings sigma into [1, 2): exact, and no step of the
// search can underflow or overflow for an extreme unit of the input.
#pragma once

#include "quantile.hpp"

namespace rsb {

struct Ratio {
    double k, change, change2;  // sigma1/sigma0, |k - 1|, |k^2 - 1|, each to a few ulp
};

// x 2^e >= 0, never above it
inline double scaled_down(double x, int e) {
    const double y = std::ldexp(x, e);
    if (y > std::numeric_limits<double>::max()) return x < inf ? std::numeric_limits<double>::max() : x;
    return y < std::numeric_limits<double>::min() && y > 0 ? std::nextafter(y, 0.0) : y;
}

struct SemiElastic {  // |log sigma(x) - log sigma(y)| <= rate |x - y|
    double rate;
    bool valid(double) const { return rate >= 0 && rate < inf; }
    Ratio at(double distance, double, bool up) const {
        const double t = rate * distance;
        return up ? Ratio{std::exp(t), std::expm1(t), std::expm1(2 * t)}
                  : Ratio{std::exp(-t), -std::expm1(-t), -std::expm1(-2 * t)};
    }
    double log_slope(double) const { return rate; }
    SemiElastic scaled(int e) const { return {std::ldexp(rate, -e)}; }
};

struct LipschitzSigma {  // |sigma(x) - sigma(y)| <= lip |x - y|, sigma >= floor
    double lip, floor;
    bool valid(double sigma) const { return lip >= 0 && lip < inf && floor >= 0 && floor <= sigma; }
    Ratio at(double distance, double sigma, bool up) const {
        const double t = lip * distance / sigma;
        if (up) return {1 + t, t, t * (2 + t)};
        const double change = std::fmin(t, (sigma - floor) / sigma);
        const double low = std::fmax(floor, std::fma(-lip, distance, sigma));
        return {low / sigma, change, change * (2 - change)};
    }
    double log_slope(double sigma) const { return lip / sigma; }
    LipschitzSigma scaled(int e) const { return {lip, scaled_down(floor, e)}; }
};

struct SigmaRange {  // low <= sigma(y) <= high wherever y is
    double low, high;
    bool valid(double sigma) const { return low > 0 && low <= sigma && sigma <= high; }
    Ratio at(double, double sigma, bool up) const {
        const double change = (up ? high - sigma : sigma - low) / sigma;
        return {(up ? high : low) / sigma, change, change * (up ? 2 + change : 2 - change)};
    }
    double log_slope(double) const { return 0; }
    SigmaRange scaled(int e) const { return {scaled_down(low, e), std::ldexp(high, e)}; }
};

struct Gain {
    double value, error;
};

// dG along (drho, -ds) at (s, rho): two terms of one sign
inline double score_slope(double u, double rho, double dim, double s, double drho, double ds) {
    const Sum2 excess = ball_excess(u, rho, dim, s);
    const Saddle p = saddle_at(dim, two_prod(s, s), rho * rho, rho, excess);
    const Integral in = contour(p.mu, p.beta, p.c2, p.tau, p.root, p.phi0, excess.hi);
    const double z = std::fabs(Tail{p.phi0, in.tail, in.density, in.drift, p.tau >= 0}.score());
    // e^phi0 over the normal density at z
    const double scale = z > 1 ? mills(z) / in.tail : sqrt_2pi * std::exp(0.5 * z * z + p.phi0);
    const double growth = std::sqrt(2 * (p.mu + p.beta)) / p.root;
    return scale * (growth * in.density * drho + s * (in.density + in.drift) * ds);
}

// Mean of f over [0, 1]: Gauss-Legendre, 3 nodes or 5.
template <class F>
double mean_of(F f, bool wide) {
    if (!wide) return (5 * f(0.1127016653792583) + 8 * f(0.5) + 5 * f(0.8872983346207417)) / 18;
    return 0.11846344252809454 * (f(0.046910077030668) + f(0.953089922969332)) +
           0.23931433524968324 * (f(0.23076534494715845) + f(0.7692346550528415)) +
           0.28444444444444444 * f(0.5);
}

// Both balls so small that the probability is (volume) x (density at the centre): the change of
// log P is -N log k +- (s0^2 - s1^2)/2, that of the score follows from the hazard. NaN where the
// ball under sigma1 is larger than e^-230.
inline Gain tiny_gain(double b, double alpha, const Ratio& r, bool up, double dim, double s0) {
    const double score = up ? -b : b, half = 0.5 * s0 * alpha, log_p = log_ndtr(score);
    const double log_k = up ? std::log1p(r.change) : r.change < 0.5 ? std::log1p(-r.change) : std::log(r.k);
    const double log_rho = (log_p + 0.5 * s0 * s0 + std::lgamma(0.5 * dim + 1)) / dim + 0.5 * ln2;
    if (!(log_rho - log_k < -230)) return {nan, 0};
    const double change = (up ? -half : half) - dim * log_k;
    if (std::fabs(change) > -0.01 * log_p) {
        const double x = ndtri_exp(log_p + change);
        return {std::fabs(x - score), 4e-15 * (std::fabs(x) - score)};
    }
    double g = 0;
    for (int i = 0; i < 8; ++i)
        g = change / mean_of([=](double t) { return 1 / mills(-score - t * g); }, false);
    return {std::fabs(g), 1e-13 * std::fabs(g)};
}

inline Gain gain(double b, double alpha, const Ratio& r, bool up, double dim) {
    if (!(r.change > 0)) return {alpha, 3e-16 * alpha};
    if (!(r.k > 0 && r.change2 < inf)) return {inf, 0};
    const double s0 = alpha / r.change2;
    if (s0 >= half_space) {
        const double all = (alpha + (up ? -b : b) * r.change) / r.k;
        return {all, 2e-15 * (alpha + std::fabs(b) * r.change) / r.k};
    }
    const Ball ball = ball_at(up ? -b : b, dim, s0);
    if (ball.rho < 1e-140) {
        const Gain tiny = tiny_gain(b, alpha, r, up, dim, s0);
        if (tiny.value == tiny.value || ball.rho < 1e-290) return tiny;
    }
    const double u0 = ball.u, sign = up ? -1 : 1;
    const double du = (u0 * r.change + alpha) / r.k, ds = alpha / (1 + r.k);
    const double drho = ball.rho * (r.change / r.k);
    const double s1 = r.k * s0, rho1 = ball.rho / r.k;
    const double u1 = ball.rho < 0.5 * s0 ? rho1 - s1 : u0 + sign * du;
    const double c2 = std::sqrt(0.25 * dim * dim + (s0 * ball.rho) * (s0 * ball.rho));
    const double span = std::fmax((du + ds) / std::sqrt(c2), r.change / r.k);
    const double place = std::fmin(std::fabs(u0) / r.k + std::fabs(u1), 4 * rho1);
    const double lost = 3e-15 * (1 + std::fabs(b)) + 1e-15 * place;
    if (lost > 2.5e-12 * alpha && span <= 0.1) {
        const auto slope = [=](double t) {
            const double v = sign * t;
            return score_slope(u0 + v * du, ball.rho + v * drho, dim, s0 - v * ds, drho, ds);
        };
        const double total = mean_of(slope, span > 0.01);
        return {total, 5e-13 * total};
    }
    const double x = ball_tail(u1, rho1, dim, s1).score();
    return {(up ? -x : x) - b, lost + 3e-15 * std::fabs(x)};
}

struct Budget {
    double z_a, z_b, gap, sigma, dim, mean_lip;  // gap = z_a - z_b, to one rounding
    bool valid() const {
        return z_a == z_a && z_b == z_b && gap == gap && sigma > 0 && sigma < inf && dim >= 1 &&
               dim <= 1e8 && mean_lip >= 0 && mean_lip < inf;
    }
    bool symmetric() const { return z_b == -z_a; }
    double target() const { return symmetric() ? 0.5 * gap : gap; }
};

template <class Envelope>
Gain total_gain(const Budget& p, const Envelope& e, double distance, bool up) {
    const Ratio r = e.at(distance, p.sigma, up);
    const double alpha = (1 + p.mean_lip) * distance / p.sigma;
    const Gain a = gain(-p.z_a, alpha, r, up, p.dim);
    if (p.symmetric()) return a;
    const Gain b = gain(p.z_b, alpha, r, up, p.dim);
    return {a.value + b.value, a.error + b.error};
}

template <class Envelope>
bool certified(const Budget& p, const Envelope& e, double distance, bool up) {
    const Gain g = total_gain(p, e, distance, up);
    return g.value + g.error <= p.target() * (1 - 3e-16);
}

// Largest radius accepted on one branch, at most `cap`: secant in a bracket, the first through
// the origin. Its errors satisfy e[n + 1] = e[n]^2/e[n - 2], so the last step is not checked.
template <class Envelope>
double branch_radius(const Budget& p, const Envelope& e, bool up, double cap) {
    const double target = p.target(), slope = e.log_slope(p.sigma) * p.sigma;
    double low = 0, f_low = -target, high = inf, f_high = inf, last = 0, f_last = -target;
    // first guess: the metric of shift and scale at high dimension
    const double growth = 2 * p.dim * slope * slope;
    const double metric = growth < inf ? std::sqrt(1 + growth) : std::sqrt(2 * p.dim) * slope;
    double r = 0.5 * p.gap * p.sigma / (1 + p.mean_lip) / metric;
    double step1 = r, step2 = 0;
    for (int i = 0; i < 300; ++i) {
        if (r >= cap) r = cap, step1 = step2 = 0;
        const Gain g = total_gain(p, e, r, up);
        const double f = g.value - target;
        if (f <= 0) {
            low = r, f_low = f;
            if (r == cap) break;
        } else {
            high = r, f_high = f;  // NaN counts as a failure
        }
        if (std::fabs(f) <= g.error) break;
        double next = f != f_last ? r - f * ((r - last) / (f - f_last)) : nan;
        last = r, f_last = f;
        const bool near = std::fabs(f) <= 1e-3 * target;
        bool secant = next > low && next < high;
        if (!secant || i > 20) {
            next = f_high < inf && i <= 20 ? low - f_low * ((high - low) / (f_high - f_low))
                   : high < inf            ? 0.5 * (low + high)
                                           : 2 * low;
            if (!(next > low && next < high)) next = 0.5 * (low + high);
            secant = false;
        }
        const double step = std::fabs(next - r);
        if (!near && step <= 2e-13 * r) {  // a secant as good as vertical
            next = high < inf ? 0.5 * (low + high) : 2 * low;
            secant = false;
        }
        r = next;
        if (near && secant && (step / r) * (step / r) <= 1e-13 * (step2 / r)) break;
        if (std::fabs(r - last) <= 2e-13 * r || high - low <= 2e-13 * low) break;
        step2 = secant ? step1 : 0, step1 = step;
    }
    for (double back = 1e-12; back < 1; back *= 2) {
        const double candidate = std::fmin(r, cap) * (1 - back);
        if (certified(p, e, candidate, up)) return candidate;
    }
    return 0;
}

// True: search; else the radius is `trivial` (0, inf, or NaN outside the domain).
template <class Envelope>
bool searchable(const Budget& p, const Envelope& e, double& trivial) {
    const bool valid = p.valid() && e.valid(p.sigma);
    trivial = !valid ? nan : p.gap > 0 ? inf : 0;
    return valid && p.gap > 0 && p.gap < inf;
}

// Multiplies lengths so that sigma is in [1, 2); what undoes it is 2 to the power returned.
template <class Envelope>
int scale(Budget& p, Envelope& e) {
    const int power = std::ilogb(p.sigma);
    p.sigma = std::ldexp(p.sigma, -power), e = e.scaled(-power);
    return power;
}

template <class Envelope>
double envelope_radius(Budget p, Envelope e) {
    double trivial;
    if (!searchable(p, e, trivial)) return trivial;
    const int power = scale(p, e);
    const double cohen = 0.5 * p.gap * p.sigma / (1 + p.mean_lip);
    const double upper = branch_radius(p, e, true, cohen);
    const double r = certified(p, e, upper, false) ? upper : branch_radius(p, e, false, upper);
    return scaled_down(r, power);
}

template <class Envelope>
double lone_branch_radius(Budget p, Envelope e, bool up) {
    double trivial;
    if (!searchable(p, e, trivial)) return trivial;
    const int power = scale(p, e);
    return scaled_down(branch_radius(p, e, up, inf), power);
}

}  // namespace rsb
