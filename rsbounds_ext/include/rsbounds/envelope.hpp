// The radius of a point under an envelope of sigma(x): the certificate at a distance,
// and its search. Derived in docs/theory/two-point.md ("The envelope certificate", "The
// search").
//
// A distance is certified iff, for the smallest and the largest sigma1 that the
// envelope allows there, P1(A) > P1(B) in the worst case (gain.hpp), that is
//   gain(-z_a) + gain(z_b) < gap = z_a - z_b.
// The gap is an argument of its own, because the difference of close scores would have
// lost its digits.
//
// The search guesses the radius and the branch that binds from cumulants, without an
// integral. One evaluation of the exact excess there, with its slope, gives the radius;
// a second one is the certificate at it; the last one is that of the other branch. A
// radius is returned only after the certificate was evaluated there with the error
// bound added, and NaN never passes: so it is sound whatever the search did. It lies
// 1e-12 to 1e-11 below the root.
//
// Lengths are first multiplied by the power of 2 that brings sigma into [1, 2): exact,
// and no step of the search can then underflow or overflow for an extreme unit of the
// input.
#pragma once

#include <cstdlib>

#include "median.hpp"

namespace rsb {

// x 2^e, as std::ldexp
inline double times_power(double x, int e) {
    return std::abs(e) < 900 ? scaled(x, double(e)) : std::ldexp(x, e);
}

// x 2^e for x >= 0, rounded down
inline double scaled_down(double x, int e) {
    const double y = times_power(x, e);
    if (y > std::numeric_limits<double>::max())
        return x < inf ? std::numeric_limits<double>::max() : x;
    return y < std::numeric_limits<double>::min() && y > 0 ? std::nextafter(y, 0.0) : y;
}

struct SemiElastic {  // |log sigma(x) - log sigma(y)| <= rate |x - y|
    double rate;
    bool valid(double) const { return rate >= 0 && rate < inf; }
    Ratio at(double distance, double, bool up) const {
        const double t = rate * distance;
        const double way = up ? t : -t;
        Ratio r =
            ratio_of(up || t < 0.6 ? 1 : std::exp(way), std::fabs(std::expm1(way)), up);
        r.rate = t;
        if (!(t < 0.5)) r.log_k = way;
        return r;
    }
    double log_slope(double) const { return rate; }
    // whether the upper branch binds as a rule
    bool up_first(double) const { return true; }
    SemiElastic scaled(int e) const { return {times_power(rate, -e)}; }
};

struct SigmaRange {  // low <= sigma(y) <= high wherever y is
    double low, high;
    bool valid(double sigma) const { return low > 0 && low <= sigma && sigma <= high; }
    Ratio at(double, double sigma, bool up) const {
        const double change = (up ? high - sigma : sigma - low) / sigma;
        return ratio_of((up ? high : low) / sigma * (1 - ratio_error),
                        change * (1 + ratio_error), up);
    }
    double log_slope(double) const { return 0; }
    bool up_first(double sigma) const {
        const double down = sigma - low;
        return high - sigma > down * (1 + 0.5 * down / sigma);
    }
    SigmaRange scaled(int e) const {
        return {scaled_down(low, e), times_power(high, e)};
    }
};

struct LipschitzSigma {  // |sigma(x) - sigma(y)| <= lip |x - y|, sigma >= floor
    double lip, floor;
    bool valid(double sigma) const {
        return lip >= 0 && lip < inf && floor >= 0 && floor <= sigma;
    }
    Ratio at(double distance, double sigma, bool up) const {
        const double t = lip * distance / sigma;
        const double low = up ? inf : std::fma(-lip, distance, sigma);
        if (low <= floor) return SigmaRange{floor, sigma}.at(distance, sigma, up);
        Ratio r = ratio_of(low / sigma, t, up);
        r.rate = up ? t / (1 + t) : t * sigma / low;
        return r;
    }
    double log_slope(double sigma) const { return lip / sigma; }
    bool up_first(double) const { return false; }
    LipschitzSigma scaled(int e) const { return {lip, scaled_down(floor, e)}; }
};

struct Budget {
    double z_a, z_b, gap, sigma, dim, mean_lip;  // gap = z_a - z_b, to one rounding
    bool valid() const {
        return z_a == z_a && z_b == z_b && gap == gap && sigma > 0 && sigma < inf &&
               dim >= 1 && dim <= 1e8 && mean_lip >= 0 && mean_lip < inf;
    }
    bool symmetric() const { return z_b == -z_a; }
    // of a constant sigma
    double cohen() const { return 0.5 * gap * sigma / (1 + mean_lip); }
    double target() const { return symmetric() ? 0.5 * gap : gap; }
    // the scores' difference less the gap, which was rounded
    double surplus() const {
        if (symmetric()) return z_a - 0.5 * gap;
        const Sum2 d = two_sum(z_a, -z_b);
        return (d.hi - gap) + d.lo;
    }
};

struct Excess {
    double value, error;
    double slope;  // by the logarithm of the distance; or NaN
    bool passed() const { return std::islessequal(value + error, 0); }  // never for NaN
    bool failed() const { return std::isgreater(value - error, 0); }
};

// Of a distance, by sigma: its square is still a normal number with digits to spare.
constexpr double least_alpha = 1e-150;

enum class Effort {
    rough,  // without an integral, NaN where that does not decide
    exact,
    slope,  // with the excess's slope
};

// X_A + X_B, or the excess of P0 of the median's ball where z_b = -z_a (median.hpp):
// certified iff below 0. Where X itself is given, X is added and not the gain: next to
// a large gap the gains' sum has lost its digits.
template <class Envelope>
Excess excess(const Budget& p, const Envelope& e, double distance, bool up,
              Effort effort, Start (&near)[2]) {
    const double outward = (1 + distance_error) * distance;
    const double target = p.target();
    const Ratio r = e.at(outward, p.sigma, up);
    double alpha = (1 + p.mean_lip) * outward / p.sigma;
    // The gain grows with alpha, and a target of ordinary size does not see so small a
    // one, whose square would underflow.
    if (alpha > 0 && alpha < least_alpha && target > 1e-100) alpha = least_alpha;
    if (p.symmetric() && target > 0.01) {
        const MedianBall ball = median_ball(alpha, r, up, p.dim);
        if (ball.valid) {
            const Gain g =
                effort == Effort::rough
                    ? rough_gain(ball, -target, up)
                    : median_gain(ball, -target, up, effort == Effort::slope);
            return {g.value, g.error, g.slope};
        }
    }
    if (effort == Effort::rough) {
        if (p.symmetric()) return {nan, nan, nan};
        const double x = rough_score(-p.z_a, alpha, r, up, p.dim) + p.surplus() +
                         rough_score(p.z_b, alpha, r, up, p.dim);
        const double error =
            std::islessequal(x, 0) ? 0 : nan;  // x is above: it can't fail
        return {x, error, nan};
    }
    Gain g = gain(-p.z_a, alpha, r, up, p.dim, near[0]);
    if (!p.symmetric()) {
        const Gain b = gain(p.z_b, alpha, r, up, p.dim, near[1]);
        g = {g.value + b.value, g.error + b.error, g.slope + b.slope, g.score + b.score,
             g.score_error + b.score_error};
    }
    // scores beside each other keep the digits that a gain beside a large gap has lost
    if (g.score_error == g.score_error)
        return {g.score + p.surplus(), g.score_error, g.slope};
    return {g.value - target, g.error + sum_error * target, g.slope};
}

template <class Envelope>
bool certified(const Budget& p, const Envelope& e, double distance, bool up) {
    Start near[2];
    const Excess rough = excess(p, e, distance, up, Effort::rough, near);
    if (rough.passed() || rough.failed()) return rough.passed();
    return excess(p, e, distance, up, Effort::exact, near).passed();
}

// A rough excess from the first cumulants alone, for the guess: D under sigma0 is a
// quantile, sd (z + skewness (z^2 - 1)/6 + ...), and what it becomes under sigma1
// should be the median.
template <class Envelope>
double rough_excess(const Budget& p, const Envelope& e, double distance, bool up) {
    const Ratio r = e.at(distance, p.sigma, up);
    const double alpha = (1 + p.mean_lip) * distance / p.sigma;
    const double k2 = r.k * r.k;
    if (!(r.change2 > 1e-100 * alpha)) return alpha - 0.5 * p.gap;  // as good as equal
    const double s0 = alpha / r.change2;
    const double nc0 = s0 * s0;
    const double nc1 = nc0 * k2;
    const double b = (up ? 0.5 : -0.5) * p.gap;
    const CornishFisher q = cornish_fisher(b, p.dim, nc0);
    const double w = 1 / (0.5 * p.dim + nc1);
    const double median = median_series<2>(0.5 * nc1 * w, w);
    const double moved = p.dim * r.change2 + alpha * s0 * (1 + k2);
    const double x = ((up ? k2 * median - q.d : q.d - k2 * median) + moved) / q.sd;
    // in units of the score, by the quantile's first two derivatives
    const double scale = q.sd / std::fmax(q.sd + 2 * q.third * b, 0.3 * q.sd);
    const double bow = (up ? -x : x) * q.third / q.sd * (scale * scale);
    return scale * x * (1 + bow / (1 + std::fabs(bow)));
}

struct Guess {
    double r;  // near the root; 0 where there seems to be none
    // f''/2 f' there by the distance over r, less that of the parabola through f(0)
    double bend;
};

// The root of rough_excess, by parabolas through its last three values, the first at
// the origin.
template <class Envelope>
Guess guess(const Budget& p, const Envelope& e, bool up, double r, double cap) {
    const bool level = e.log_slope(p.sigma) > 0;  // the excess at 0 is -z_a itself
    const double f0 = level ? -0.5 * p.gap : rough_excess(p, e, 0, up);
    const double start = r;
    if (!(f0 < 0)) return {0, 0};
    double f_last = f0;
    double last = 0;
    double older = nan;
    double chord_last = nan;
    double bend = 0;
    double error = 1;
    double before = 1;
    for (int i = 0; i < 8; ++i) {
        const double f = rough_excess(p, e, r, up);
        const double chord = (f - f_last) / (r - last);
        if (f != f) return {start, 0};
        const double curve = i > 0 ? (chord - chord_last) / (r - older) : 0;
        const double slope = chord + curve * (r - last);
        const double square = slope * slope - 4 * curve * f;
        double next =
            r - (square > 0 ? 2 * f / (slope + std::sqrt(square)) : f / chord);
        if (!(next > 0 && next < cap)) next = f > 0 ? 0.5 * r : 2 * r;
        if (i > 0) bend = curve * r / slope - (level ? 1 + (f0 - f) / (slope * r) : 0);
        older = last;
        last = r;
        f_last = f;
        chord_last = chord;
        r = next;
        const double step = std::fabs(r / last - 1);
        if (step * before * error <= 1e-8) break;  // the error after this step, about
        error = before;
        before = step;
    }
    return r > 0.01 * start && r < cap ? Guess{r, bend} : Guess{start, 0};
}

// Where guesses begin: the radius of the limit of high dimension.
template <class Envelope>
double first_guess(const Budget& p, const Envelope& e) {
    const double slope = e.log_slope(p.sigma) * p.sigma;
    const double growth = 2 * p.dim * slope * slope;
    return growth < inf ? p.cohen() / std::sqrt(1 + growth)
                        : p.cohen() / std::sqrt(2 * p.dim) / slope;
}

// The largest radius accepted on one branch, at most `cap`. A step goes to the root of
// the parabola that has the last value and slope and the guess's bend (later: the value
// before), less a margin: the point evaluated next is meant to be returned, and its
// slope is not asked for. Invariant: low <= r <= high; low has passed or is 0; high has
// not (NaN included).
template <class Envelope>
double branch_radius(const Budget& p, const Envelope& e, bool up, Guess near_root,
                     double cap) {
    double r = near_root.r;
    if (r == 0) {
        // the guess saw no root: sigma may jump at the point itself, and then not even
        // a distance of 0 is certified
        if (!certified(p, e, 0.0, up)) return 0;
        r = 0.1 * p.cohen();
    }
    Start near[2];
    // this branch does not bind, as a rule without an integral
    if (r >= cap && excess(p, e, cap, up, Effort::rough, near).passed()) return cap;
    double low = 0;
    double high = inf;
    double last = 0;
    double slope = nan;
    // of the logarithm of r: after a short one the point is meant to be returned, as
    // the cap is at once, and its slope is of no use
    double step = r < cap ? 1 : 0;
    // at 0 nothing has been used up, unless sigma jumps there: then it is not known
    double f_last = e.log_slope(p.sigma) > 0 ? -p.target() : nan;
    for (int i = 0; i < 300; ++i) {
        r = std::fmin(r, cap);
        const Effort effort = std::fabs(step) < 1e-4 ? Effort::exact : Effort::slope;
        const Excess x = excess(p, e, r, up, effort, near);
        const double f = x.value;
        const double back = (last - r) / r;
        const double chord = (f_last - f) / back;
        const bool fresh = std::isgreater(x.slope, 0);  // NaN raises no flag
        // a chord between closer points is rounding: the older slope is better
        const bool stale = !std::isgreater(slope, 0) || std::fabs(back) > 1e-7;
        if (fresh) slope = x.slope;
        else if (stale) slope = chord;  // by log r
        // more than the error, by which alone the next point would fail, and 5e-13 of r
        const double margin = 1.25 * x.error + 5e-13 * slope;
        (x.passed() ? low : high) = r;
        // sigma alone may rule every distance out
        if (i == 1 && low == 0 && !certified(p, e, 0.0, up)) break;
        const bool small = std::fabs(f) <= 1e-3 * std::fmin(p.target(), 10);
        // so near to the root that another evaluation would gain less than its error
        if (x.passed() && (r == cap || (small && -f <= 1.5 * margin))) break;
        // half the second derivative, from the value before and the slope here
        const double parabola = fresh && chord == chord ? (chord - slope) / back : 0;
        const double curve = parabola + (i == 0 ? near_root.bend * slope : 0);
        const double aim = f + margin;
        const double square = slope * slope - 4 * curve * aim;
        // the root of the parabola without cancellation; where there is none, of its
        // tangent
        step = square > 0 ? 2 * aim / (slope + std::sqrt(square)) : aim / slope;
        // the slope is as good as vertical: bisect
        const bool stuck = !small && std::fabs(step) <= 2e-13;
        double next = r - step * r;
        // outside of the bracket, or after so many steps that parabolas don't help
        if (!(next > low && next < high) || stuck || i > 20) {
            next = high < inf ? 0.5 * (low + high) : 2 * low;
            // sigma leaves its place within a distance far below itself
            if (low == 0 && i > 100) next = 0x1p-40 * high;
            step = 1;
        }
        // a jump of sigma, say: nothing between passed and failed is left to find
        if (high - low <= 2e-12 * low) break;
        last = r;
        f_last = f;
        r = next;
    }
    return low;
}

// Whether there is a radius to search for; if not, it is `trivial`: 0, inf, or NaN
// outside the domain.
template <class Envelope>
bool searchable(const Budget& p, const Envelope& e, double& trivial) {
    const bool valid = p.valid() && e.valid(p.sigma);
    trivial = !valid ? nan : p.gap > 0 ? inf : 0;
    return valid && p.gap > 0 && p.gap < inf;
}

// Brings sigma into [1, 2); a factor of 2 to the power returned undoes it.
template <class Envelope>
int scale(Budget& p, Envelope& e) {
    const int power = std::ilogb(p.sigma);
    p.sigma = times_power(p.sigma, -power);
    e = e.scaled(-power);
    return power;
}

template <class Envelope>
double envelope_radius(Budget p, Envelope e) {
    double trivial;
    if (!searchable(p, e, trivial)) return trivial;
    const int power = scale(p, e);
    const double cap = p.cohen();
    bool up = e.up_first(p.sigma);
    Guess root = guess(p, e, up, first_guess(p, e), cap);
    const bool other_binds = root.r > 0 && rough_excess(p, e, root.r, !up) > 0;
    if (other_binds) {
        up = !up;
        root = guess(p, e, up, root.r, cap);
    }
    const double first = branch_radius(p, e, up, root, cap);
    if (!(first > 0)) return 0;
    return scaled_down(branch_radius(p, e, !up, {first, 0}, first), power);
}

template <class Envelope>
double lone_branch_radius(Budget p, Envelope e, bool up) {
    double trivial;
    if (!searchable(p, e, trivial)) return trivial;
    const int power = scale(p, e);
    const Guess root = guess(p, e, up, first_guess(p, e), inf);
    return scaled_down(branch_radius(p, e, up, root, inf), power);
}

}  // namespace rsb
