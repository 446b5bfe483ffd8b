// The certificate of a point under an envelope of sigma(x), and its search along the radius.
// Derived in docs/theory/two-point.md.
//
// Certified at a distance iff, for the smallest and the largest sigma1 that the envelope allows,
//   gain(-z_a) + gain(z_b) < gap = z_a - z_b   (P1(A) > P1(B) for both worst cases; equal gains
//   when z_b = -z_a), gain.hpp.
// The gap is an argument of its own: for close scores their difference has lost its digits.
//
// The search runs on the excess of one branch: secant inside a bracket. A radius is returned only
// after the certificate was evaluated there with the error bound added: NaN never passes. Lengths
// are first multiplied by the power of 2 that brings sigma into [1, 2): exact, and no step of the
// search can underflow or overflow for an extreme unit of the input.
#pragma once

#include "gain.hpp"

namespace rsb {

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
        return up ? Ratio{std::exp(t), std::expm1(t), std::expm1(2 * t), t}
                  : Ratio{std::exp(-t), -std::expm1(-t), -std::expm1(-2 * t), -t};
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

struct Budget {
    double z_a, z_b, gap, sigma, dim, mean_lip;  // gap = z_a - z_b, to one rounding
    bool valid() const {
        return z_a == z_a && z_b == z_b && gap == gap && sigma > 0 && sigma < inf && dim >= 1 &&
               dim <= 1e8 && mean_lip >= 0 && mean_lip < inf;
    }
    bool symmetric() const { return z_b == -z_a; }
    double target() const { return symmetric() ? 0.5 * gap : gap; }
    // what the scores exceed the gap by: its rounding
    double surplus() const {
        if (symmetric()) return z_a - 0.5 * gap;
        const Sum2 d = two_sum(z_a, -z_b);
        return (d.hi - gap) + d.lo;
    }
};

struct Excess {
    double value, error;
};

// X_A + X_B (X_A alone when both are equal): certified iff below 0. Where both scores are known
// themselves they are added: next to a large gap the gains' sum has lost its digits.
template <class Envelope>
Excess excess(const Budget& p, const Envelope& e, double distance, bool up) {
    const Ratio r = e.at(distance, p.sigma, up);
    const double alpha = (1 + p.mean_lip) * distance / p.sigma, target = p.target();
    Gain g = gain(-p.z_a, alpha, r, up, p.dim);
    if (!p.symmetric()) {
        const Gain b = gain(p.z_b, alpha, r, up, p.dim);
        g = {g.value + b.value, g.error + b.error, g.score + b.score, g.score_error + b.score_error};
    }
    if (g.score_error == g.score_error) return {g.score + p.surplus(), g.score_error};
    return {g.value - target, g.error + 3e-16 * target};
}

template <class Envelope>
bool certified(const Budget& p, const Envelope& e, double distance, bool up) {
    const Excess x = excess(p, e, distance, up);
    return x.value + x.error <= 0;
}

// Largest radius accepted on one branch, at most `cap`: secant in a bracket, the first through
// the origin. Its errors satisfy e[n + 1] = e[n]^2/e[n - 2], so the last step is not checked.
// Invariant: low <= r <= high, the excess is at most 0 at low and was above 0, or NaN, at high.
// Soundness does not rest on it: what is returned has passed `certified`.
template <class Envelope>
double branch_radius(const Budget& p, const Envelope& e, bool up, double cap) {
    const double target = p.target(), slope = e.log_slope(p.sigma) * p.sigma;
    double low = 0, f_low = -target, high = inf, f_high = inf, last = 0, f_last = -target;
    // first guess: the metric of shift and scale at high dimension
    const double growth = 2 * p.dim * slope * slope, cohen = 0.5 * p.gap * p.sigma / (1 + p.mean_lip);
    double r = growth < inf ? cohen / std::sqrt(1 + growth) : cohen / std::sqrt(2 * p.dim) / slope;
    double step1 = r, step2 = 0;
    for (int i = 0; i < 300; ++i) {
        if (r >= cap) r = cap, step1 = step2 = 0;
        const Excess x = excess(p, e, r, up);
        const double f = x.value;
        if (f <= 0) {
            low = r, f_low = f;
            if (r == cap) break;
        } else {
            high = r, f_high = f;  // NaN counts as a failure
        }
        if (std::fabs(f) <= x.error) break;
        double next = f != f_last ? r - f * ((r - last) / (f - f_last)) : nan;
        last = r, f_last = f;
        const bool near = std::fabs(f) <= 1e-3 * std::fmin(target, 10);
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
