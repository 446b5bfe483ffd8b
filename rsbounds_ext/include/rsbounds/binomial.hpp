// Tails of the binomial law, each with a bound of its error, and from them Clopper and
// Pearson's bound. Derived, errors included, in docs/theory/confidence.md, "The
// binomial tail".
//
//   Y ~ Bin(n, x),  t(c) = P(Y > c) + v P(Y = c)
//   F(z) = (1 - x + x z)^n,  r = c (1 - x)/((n - c) x), where F(z) z^-c is least
// The mean of F(z) z^-c [1/(z - 1) + v] over z = r e^(i theta), theta the odd multiples
// of pi/N, is for r > 1 exactly the sum of (-1)^l r^(lN) t(c + lN) over all l, for r <
// 1 minus that of 1 - t. Of it the terms l = -1, -2, ... are -1/(r^N + 1), the pole's
// part, but for others like those with l > 0, which Chernoff's bound at r e^(+-delta)
// covers. On the circle F(z) z^-c is e^(L - E + iT): L = -n KL(c/n, x) is a sum of two
// terms of one sign, and E grows as -(n/2) log(1 - a), a = 4 c (n - c)/n^2
// sin^2(theta/2). So a handful of nodes serves every n.
#pragma once

#include "ball.hpp"
#include "scores.hpp"

namespace rsb {

// Bounds of relative errors (docs/theory/proofs.md)
constexpr double node_error = 6e-15;      // of a node, per unit of 1 + j theta/(1 - a)
constexpr double deviance_error = 4e-15;  // of L
constexpr double pole_error = 2e-15;    // of the pole's part, per unit of its exponent
constexpr double log_error = 4.5e-16;   // of a logarithm: 2 ulp, at most 2^-51
constexpr double ndtri_error = 2e-15;     // of a normal score
constexpr double series_error = 4e-12;  // of the series of the beta law
// The step and the last node follow from this exponent, and from it what the terms
// besides the pole's are worth beside e^L.
constexpr double alias_exponent = 44;
constexpr double alias_error = 1.7e-19;

struct BinomialTail {
    bool upper;  // the one of t and 1 - t that is small
    double log,
        error;     // its logarithm, with its error's bound: NaN if nothing is known
    double slope;  // of that logarithm, by log x, to a few digits
};

// t - log1p(t), where 1 + t = ratio
inline double deviance(double t, double ratio) {
    return t > -0.45 ? log1p_defect(t) : (ratio - 1) - std::log(ratio);
}

// The nodes, with all that does not depend on x: a search for x needs it once.
// 0 < c < n <= 1e15.
constexpr int most_binomial_nodes = 52;  // proved: program `binomial nodes`
struct BinomialNodes {
    using Each = double[most_binomial_nodes];

    double n, c, m;  // m = n - c
    double delta;    // so far from the circle the terms but for the pole's are covered
    double half;     // N/2
    double mass;     // the sum of e^-E cos T
    int count;
    bool cut;  // the sum stops early, and what is left out is at most the last node
    Each square;  // sin^2(theta/2)
    Each sine;    // sin theta
    Each size;    // e^-E
    Each cosine;  // cos T
    Each turned;  // sin T, its sign that of the smaller count's circle
    Each growth;  // of the error, in units of node_error

    BinomialNodes(double n, double c);
};

inline BinomialNodes::BinomialNodes(double n, double c)
    : n(n), c(c), m(n - c), mass(0), count(0), cut(false) {
    const double j = std::fmin(c, m);
    const double p = j / n;
    const double turn = c > m ? -1 : 1;
    delta = 9.4 / (std::sqrt(j * (1 - p)) + 2.4);
    const double above = n * std::log1p(p * std::expm1(delta)) - j * delta;
    const double below = n * std::log1p(p * std::expm1(-delta)) + j * delta;
    half = std::ceil((alias_exponent + std::fmax(above, below)) / (2 * delta));
    const double last = alias_exponent + std::log(2 * half);
    for (double i = 0.5; i < half && !cut; ++i) {
        if (count == most_binomial_nodes) {
            mass = nan;  // nothing is known
            return;
        }
        const double theta = i * (pi / half);
        const double s = std::sin(theta / 2);
        const double s2 = s * s;
        const double sin_theta = 2 * s * std::cos(theta / 2);
        const double a = 4 * p * (1 - p) * s2;
        const double exponent = -0.5 * n * std::log1p(-a);
        const double angle = n * std::atan2(p * sin_theta, 1 - 2 * p * s2) - j * theta;
        square[count] = s2;
        sine[count] = sin_theta;
        size[count] = std::exp(-exponent);
        cosine[count] = std::cos(angle);
        turned[count] = turn * std::sin(angle);
        growth[count] = 1 + j * theta / (1 - a);
        mass += size[count] * cosine[count];
        cut = exponent > last;
        ++count;
    }
    // the lanes that are left, which no sum takes
    for (int i = count; i % lanes != 0; ++i) {
        for (double* part : {square, sine, size, cosine, turned, growth})
            part[i] = part[count - 1];
    }
}

RSB_INLINE vec four(const double* from) {
    vec r;
    std::memcpy(&r, from, sizeof r);
    return r;
}

// 0 < x < 1, 0 <= v <= 1
inline BinomialTail binomial_tail(const BinomialNodes& nodes, double x, double v) {
    const double n = nodes.n;
    const double c = nodes.c;
    const double m = nodes.m;
    const double y = 1 - x;
    const Sum2 nx = two_prod(n, x);
    const Sum2 d = two_sum(nx.hi, -c);
    const double e = d.hi + (d.lo + nx.lo);
    // -L
    const double l = c * deviance(e / c, n * x / c) + m * deviance(-e / m, n * y / m);
    const double k = -e / (c * y);     // 1 - 1/r
    const double g = m / c * (x / y);  // 1/r
    double sum = 0;
    double error = 0;
    double rest = 0;
    for (int i = 0; i < nodes.count; i += lanes) {
        const vec s2 = four(nodes.square + i);
        const vec size = four(nodes.size + i);
        const vec den = k * k + 4 * g * s2;
        const vec odd = g * four(nodes.sine + i) / den;
        const vec even = g * (k - 2 * s2) / den;
        const vec term = size * (four(nodes.cosine + i) * (v + even) +
                                 four(nodes.turned + i) * odd);
        const vec scale = size * (v + odd + g * (std::fabs(k) + 2 * s2) / den);
        const vec rounding = scale * four(nodes.growth + i);
        for (int lane = 0; lane < lanes && i + lane < nodes.count; ++lane) {
            sum += term[lane];
            error += rounding[lane];
            rest = scale[lane];
        }
    }
    if (!nodes.cut) rest = 0;
    BinomialTail out{k >= 0, 0, 0, 0};
    const double log_r = std::fabs(std::fabs(k) < 0.5 ? std::log1p(-k) : std::log(g));
    const double e_pole = 2 * nodes.half * log_r;
    const double pole =
        log_r < nodes.delta ? std::exp(l - e_pole) / (1 + std::exp(-e_pole)) : 0;
    const double total = (out.upper ? sum : -sum) / nodes.half + pole;
    error = node_error * error / nodes.half + rest + alias_error +
            pole_error * pole * (1 + e_pole);
    out.log = std::log(total) - l;
    out.error = error / total + deviance_error * (1 + l);
    out.slope = nodes.mass / nodes.half / total *
                ((1 - v) * m * (x / y) + v * c) * (out.upper ? 1 : -1);
    return out;
}

// At x the target is passed by `beyond`; that is sure from `least` on. The slope is
// that of `beyond` by log x.
struct Passed {
    double beyond, least, slope;
};

// An x just outward of the root of f, by Newton's method: below it where `down`, else
// above. Only an x that has passed is returned, or the trivial 0 or 1.
template <class F>
double outward_root(F f, double x, bool down) {
    double best = down ? 0 : 1;
    double aim = 2;
    for (int i = 0; i < 60 && x > 0; ++i, aim *= i > 10 ? 2 : 1) {
        const Passed at = f(x);
        const bool passed = at.beyond >= at.least;
        if (passed && (down ? x > best : x < best)) best = x;
        if (passed && at.beyond <= 2 * aim * at.least) break;
        const double next =
            x * std::exp(std::fmin((aim * at.least - at.beyond) / at.slope, 700));
        x = next < 1 ? next : x / 2 + 0.5;
    }
    return best;
}

// Wilson's limits of a share c of n, for the square w of a score
inline double wilson(double c, double n, double w, bool low) {
    const double reach = std::sqrt(w * (c * (1 - c / n) + w / 4)) + w / 2;
    return low ? c * (c / (n * (c + reach))) : (c + reach) / (n + w);
}

// The p at which P(X >= k) = alpha, X ~ Bin(n, p), rounded down; as p - 1, rounded up
// in size, where p is above one half or so. At the point returned the tail
// is beyond alpha by more than its error.
inline double binomial_bound(double count, double n, double alpha) {
    if (!(count > 0 && count < n && n <= 1e15 && alpha > 0 && alpha < 1)) return nan;
    const double z = ndtri(alpha);
    const double middle = count - 0.5;
    const double p = wilson(middle, n, z * z, z < 0);
    const bool in_p = p < 0.5;
    const bool small = alpha <= 0.5;
    const double c = in_p ? count : n - count;
    const double v = in_p ? 1 : 0;
    const double target = small ? std::log(alpha) : std::log1p(-alpha);
    const BinomialNodes nodes(n, c);
    const auto passed = [&](double x) -> Passed {
        BinomialTail t = binomial_tail(nodes, x, v);
        if (t.upper != (in_p == small)) {
            const double ratio = -1 / (1 - std::exp(-t.log));
            t.log = log1mexp(t.log);
            t.error *= ratio;
            t.slope *= -ratio;
        }
        const double beyond = small ? target - t.log : t.log - target;
        return {beyond, t.error - log_error * target, small ? -t.slope : t.slope};
    };
    const double x =
        outward_root(passed, in_p ? p : wilson(n - middle, n, z * z, z > 0), in_p);
    return in_p ? x : -x;
}

// A lower bound of a share rounded down, and its complement rounded up
struct LowShare {
    double low, rest;
    double score() const {
        const bool near = low < rest;
        const double z = ndtri(near ? low : rest);
        return rounded(near ? z : -z, ndtri_error, -inf);
    }
};
inline LowShare clopper_pearson(double count, double n, double alpha) {
    const double x = binomial_bound(count, n, alpha);
    const double other = 1 - std::fabs(x);
    if (x >= 0) return {x, std::nextafter(other, 1)};
    return {std::nextafter(other, 0), -x};
}

// log Gamma(x) - (x - 1/2) log x + x - log(2 pi)/2 for x >= 1/2, to 4e-15: Stirling's
// series envelops it
inline double stirling(double x) {
    double more = 0;
    for (; x < 10; ++x) more += (x + 0.5) * std::log1p(1 / x) - 1;
    const double y = 1 / (x * x);
    static constexpr double c[] = {
        1 / 12., -1 / 360., 1 / 1260., -1 / 1680., 1 / 1188., -691 / 360360.};
    return horner(c, y) / x + more;
}

// Gamma(x + 1)/(sqrt(x) Gamma(x + 1/2)), rounded up (Watson 1959)
inline double half_step(double x) {
    return std::sqrt(1 + 0.25 / x + 1 / (32 * x * x)) * (1 + 1e-15);
}

// The beta law's probability below x, of parameters s <= 1e4 and b, by its series of
// positive terms; `first` is x^s (1 - x)^b/B(s, b). Where the mean is beyond s by 30
// sqrt(s) + 100 all but e^-60 lies below x.
inline double beta_series(double s, double b, double x, double first) {
    if ((s + b) * x > s + 30 * std::sqrt(s) + 100) return 1;
    double term = 1;
    double total = 1;
    for (double j = 0;; ++j) {
        const double ratio = (s + b + j) / (s + 1 + j) * x;
        const double most = std::fmax(ratio, x);  // it tends to x
        term *= ratio;
        total += term;
        if (most < 1 && term < 1e-17 * total * (1 - most)) return first / s * total;
    }
}

// The log wealth of a bet against p <= p0, x = p0 or p0 - 1 < 0, with a bound of its
// error. Derived in docs/theory/confidence.md, "The wealth".
struct Wealth {
    double log, error;
};
inline Wealth wealth(double hits, double trials, double x) {
    const double misses = trials - hits;
    const double a = hits + 0.5;
    const double b = misses + 0.5;
    const double all = trials + 1;
    const bool in_p = x > 0;
    const double size = std::fabs(x);
    const double p = in_p ? x : 1 + x;
    const double q = in_p ? 1 - x : size;
    const Sum2 mean = two_prod(all, size);
    const Sum2 d = two_sum(mean.hi, in_p ? -a : -b);
    const double gap = d.hi + (d.lo + mean.lo);
    const double e = in_p ? gap : -gap;  // p0 (trials + 1) - a
    const double l =
        a * deviance(e / a, p * all / a) + b * deviance(-e / b, q * all / b);
    const double stake = std::log(2 * std::atan(std::sqrt(q / p)));
    const double odds = 0.5 * (std::log(p) + std::log(q));
    // log p0^a (1 - p0)^b/B(a, b)
    const double scale = 0.5 * std::log(a / all * b) - log_sqrt_2pi;
    const double first = scale + (stirling(all) - stirling(a) - stirling(b)) - l;
    const double won = odds - stake - first;
    double error = deviance_error * (4 + l) +
                   log_error * (std::fabs(stake) + std::fabs(odds) + std::fabs(scale));
    double above;
    if (std::fmin(a, b) <= 1e4) {
        // from the smaller parameter's end, where its terms are few
        const bool from_p =
            (a < b ? p : q) > 0.5 && std::fmax(a, b) <= 1e4 ? e < 0 : a < b;
        const double part = beta_series(from_p ? a : b, from_p ? b : a, from_p ? p : q,
                                        std::exp(first));
        above = from_p ? 1 - part : part;
        error += (series_error + error) * (part / above);
    } else {  // by Cauchy and Schwarz, from the two laws half a success away
        const BinomialNodes nodes(trials, in_p ? hits : misses);
        const BinomialTail t = binomial_tail(nodes, size, 0);
        const BinomialTail u = binomial_tail(nodes, size, 1);
        // of the law's probability below p0, rounded up: 0 where nothing is known
        const auto below = [=](const BinomialTail& y) {
            if (y.upper == in_p) return y.log + y.error;
            return y.log - y.error < 0 ? log1mexp(y.log - y.error) : 0;
        };
        const double part = std::exp(0.5 * (below(t) + below(u))) *
                            (half_step(hits) * half_step(misses));
        above = 1 - part;
    }
    return {above > 0 ? won + std::log(above) : -inf, error};
}

inline double log_wealth(double hits, double trials, double x) {
    if (!(hits >= 0 && hits <= trials && trials >= 1 && trials <= 1e15 &&
          std::fabs(x) < 1))
        return nan;
    if (x == 0) return std::signbit(x) ? -inf : 0;
    const Wealth w = wealth(hits, trials, x);
    return w.log > -inf ? w.log - w.error : -inf;
}

// The p0 whose wealth is 1/alpha, rounded down, in the form of binomial_bound
inline double anytime_bound(double hits, double trials, double alpha) {
    if (!(hits >= 0 && hits <= trials && trials >= 1 && trials <= 1e15 && alpha > 0 &&
          alpha <= 0.5))
        return nan;
    if (hits == 0) return 0;
    const double target = -std::log(alpha);
    const double w = 2 * target + std::log(trials) + 1;
    const double p = wilson(hits, trials, w, true);
    const double sign = p < 0.5 ? 1 : -1;
    const auto passed = [=](double x) -> Passed {
        const Wealth at = wealth(hits, trials, sign * x);
        const double rest = hits - trials * (sign > 0 ? x : 1 - x);
        return {at.log - target, at.error + log_error * target,
                sign > 0 ? -rest / (1 - x) : rest / (1 - x)};
    };
    return sign * outward_root(passed,
                               sign > 0 ? p : wilson(trials - hits, trials, w, false),
                               sign > 0);
}

}  // namespace rsb
