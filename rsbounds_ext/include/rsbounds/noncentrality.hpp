// The noncentrality, or the degrees of freedom, at which the noncentral chi-square law
// has a given probability below a fixed point x. Symbols as in ball.hpp; derived in
// docs/theory/inverses.md.
//
// The score z of P(X <= x) falls in h and in mu. With F the lower tail, and f_N the
// density of Y under N degrees of freedom,
//   dF/dh = -f_(N+2) = -e^phi0 (density + drift),
//   dF/dmu = -e^phi0 density log1p(tau)/tau (1 + O(1/c2)).
// Both solves begin where the formula of Lugannani and Rice has the score (quantile.hpp),
// whose saddle is a root in one variable at fixed y too, and go on by exact scores:
// Newton's steps with the curvature in h, secants in mu. A step ends the search when what
// it leaves of the score is far below the score's own error.
//
// Error: that of the score (ball.hpp, small_df.hpp), what the last step leaves, and the
// result's rounding. It is proved that the last step leaves less than 5e-15 (1 + |z|) for
// the noncentrality and 1e-14 (1 + |z|) for degrees of freedom, where those below 2 are
// returned after an evaluation alone; 1e-16 (1 + |z|) is measured.
#pragma once

#include "marcum.hpp"

namespace rsb {

// x = rho^2; rho is 0 where it is to be computed from x.
struct FixedPoint {
    Sum2 x, rho;

    double y() const { return 0.5 * x.hi; }
    double radius() const { return rho.hi > 0 ? rho.hi : std::sqrt(x.hi); }
};

inline Sum2 excess_at(Sum2 x, double df, double nc) {
    const Sum2 a = two_sum(x.hi, -nc);
    const Sum2 d = two_sum(a.hi, -df);
    return two_sum(d.hi, d.lo + (a.lo + x.lo));
}

inline Mixture mixture_at(FixedPoint at, double df, double nc) {
    const double mu = 0.5 * df;
    if (!(at.rho.hi > 0)) return ncx2_mixture(at.x.hi, df, nc);
    const Sum2 l = log_two(at.rho.hi);
    const double power = std::pow(at.rho.hi, df) * std::exp2(-mu);
    return {mu, {0.5 * nc, 0}, {0.5 * at.x.hi, 0.5 * at.x.lo}, {2 * l.hi, 2 * l.lo},
            power};
}

inline bool is_mixture(FixedPoint at, double df, double nc) {
    return df < 1 && nc * at.x.hi < 64;
}

// The score of P(X <= x), its slope in the parameter, the derivative of the logarithm of
// the slope, with the sizes of its two terms, of its own derivative and of its error, and
// the slope's error
struct ScoreHere {
    Sum2 z;
    double slope, lean, terms, turn, blur, off;
};

inline Sum2 score_of(const Mixture& m) {
    return m.p < m.q ? ndtri_exp_two(m.log_p) : -ndtri_exp_two(m.log_q);
}

inline double c2_of(FixedPoint at, double df, double nc) {
    const double mu = 0.5 * df;
    return std::sqrt(mu * mu + nc * at.x.hi);
}

// log|dz/dparameter| changes by z dz/dparameter and by the logarithmic derivative of the
// density, `shift`, whose own derivative is about `turn`
inline ScoreHere with_shift(Sum2 z, double slope, double shift, double turn, double blur,
                            double off) {
    const double first = z.hi * slope;
    const double lean = first + shift;
    const double turns = slope * slope + std::fabs(first * lean) + turn;
    return {z, slope, lean, std::fabs(first) + std::fabs(shift), turns, blur, off};
}

inline double mixture_ratio(const Mixture& m) {
    const double hy = m.h * m.y;
    const double next = density_sum(m.mu + 1, hy) / (m.mu + 1);
    return 0.5 * m.x * next / density_sum(m.mu, hy);
}

// f_(N+2)/f_N: 1 + tau times the mean of 1/g over the path
inline double density_ratio(double x, double df, double nc) {
    if (df < 1 && nc * x < 64) return mixture_ratio(ncx2_mixture(x, df, nc));
    const Tail t = tail_of(df, {nc, 0}, x, {0, 0}, ncx2_excess(x, df, nc), true);
    const double mu = 0.5 * df;
    return x / (mu + std::sqrt(mu * mu + nc * x)) * (1 + t.drift / t.density);
}

// The density of X over a tail, without the exponential that both have
inline double density_over_tail(double x, double df, double nc, bool upper) {
    if (df < 1 && nc * x < 64) {
        const Mixture m = ncx2_mixture(x, df, nc);
        return std::exp(m.log_density() - (upper ? m.log_q : m.log_p));
    }
    const Tail t = ncx2_tail(x, df, nc);
    if (upper != t.upper) return t.density_of_x() / (1 - t.small());
    const double mu = 0.5 * df;
    const double ratio = x / (mu + std::sqrt(mu * mu + nc * x));
    return 0.5 * t.density / (ratio * t.total());
}

// f_(N+4)/f_(N+2): from f_(N+2)/f_N by the recurrence of Bessel functions; where that
// cancels, by a quotient that is exact at nc = 0
struct NextRatio {
    double value, off;
};
inline NextRatio next_ratio(double x, double df, double nc, double ratio, double root) {
    const double far = x / ratio;
    if (nc > 1e-4 * df) return {(far - df) / nc, 1e-15 * (far + df) / nc};
    const double near = x / (0.5 * (df + 1) + root);
    return {near, 0.15 * near / root};
}

inline ScoreHere score_in_h(FixedPoint at, double df, double nc) {
    const double mu = 0.5 * df;
    const double c2 = c2_of(at, df, nc);
    Sum2 z;
    double slope, ratio;
    if (is_mixture(at, df, nc)) {
        const Mixture m = mixture_at(at, df, nc);
        z = score_of(m);
        ratio = mixture_ratio(m);
        slope = -ratio * 2 * sqrt_2pi * std::exp(m.log_density() + 0.5 * z.hi * z.hi);
    } else {
        const Tail t = tail_of(df, {nc, 0}, at.x.hi, at.rho, excess_at(at.x, df, nc),
                               true);
        z = t.score_two();
        ratio = at.x.hi / (mu + c2) * (1 + t.drift / t.density);
        slope = -(t.density + t.drift) * over_normal(t, z.hi);
    }
    const double far = mu + 1.5;
    const double root = std::sqrt(far * far + nc * at.x.hi);
    const NextRatio next = next_ratio(at.x.hi, df, nc, ratio, root);
    const double turn = next.value * next.value / root;
    return with_shift(z, slope, next.value - 1, turn, next.off, 0);
}

// W(u) = u log u/(u - 1), u = 1 + tau, over u, its derivative, and u/2 times its second
// one; tau has lost the digits of u where that is small
struct LogWeight {
    double at, first, second;
};
inline LogWeight log_weight(double u, double tau, double log_u) {
    if (std::fabs(tau) < 0.02) {
        const double rest = 1 / 3. + tau * (-0.25 + tau * (0.2 + tau * (-1 / 6.)));
        return {1 + tau * (-0.5 + tau * rest), 0.5 + tau * (-1 / 3. + 0.25 * tau),
                u * (-1 / 6. + 0.25 * tau)};
    }
    const double share = log_u / tau;
    const double first = (1 - share) / tau;
    return {share, first, 0.5 * (1 - 2 * u * first) / tau};
}

// of a mixture, by a quotient of differences; between few degrees of freedom they drown
// in rounding if the change is small
constexpr double small_change = 1e-5;
constexpr double large_change = 0.1;
inline ScoreHere mixed_score_in_mu(FixedPoint at, double df, double nc) {
    const double mu = 0.5 * df;
    const Sum2 z = score_of(mixture_at(at, df, nc));
    const double change = df > 1e-8 ? small_change : large_change;
    const Sum2 beside = score_of(mixture_at(at, df * (1 + change), nc));
    const double slope = (beside - z).hi / (mu * change);
    return {z, slope, 0, 0, 0, 2 / mu, 1e-4};
}

inline ScoreHere score_in_mu(FixedPoint at, double df, double nc) {
    const double c2 = c2_of(at, df, nc);
    if (is_mixture(at, df, nc)) return mixed_score_in_mu(at, df, nc);
    const double u = at.x.hi / (0.5 * df + c2);
    const double turn = 1 / c2;
    const Tail t =
        tail_of(df, {nc, 0}, at.x.hi, at.rho, excess_at(at.x, df, nc), true);
    const Sum2 z = t.score_two();
    // the mean of the weight over the path, over u; that of 1/g is 1 + drift/density,
    // its variance -1/c2
    const double log_u = t.log_ratio.hi;
    const LogWeight w = log_weight(u, u - 1, log_u);
    const double moved = t.drift / t.density;
    const double mean = w.at + w.first * moved + w.second * (moved * moved - 1 / c2);
    const double slope = -t.density * over_normal(t, z.hi) * mean;
    return with_shift(z, slope, log_u, turn, turn, turn * turn);
}

// Where the formula of Lugannani and Rice has the score: r = z - log(w/r)/r at the root
// r = z, whose last place counts little.
inline double signed_root(double z, double w_at_z) {
    return z - std::log(w_at_z / z) / z;
}
// A score that near 0 is taken for this, as the formula is 0/0 there.
constexpr double least_score = 1e-3;
inline double away_from_zero(double z) {
    return std::fabs(z) < least_score ? std::copysign(least_score, z) : z;
}

// 1/(1 + tau) = 1 + e at fixed y: y e^2 - mu (e - log1p e) = r^2/2, e has the sign of
// -r; or the e at which h = 0, if the root is beyond.
inline double centre_root(double mu, double y, double r, double e) {
    const double least = mu / y - 1;
    const double target = 0.5 * r * r;
    for (int i = 0; i < 20; ++i) {
        const double v = 1 + e;
        const double f = y * e * e - mu * log1p_defect(e) - target;
        const double slope = e * (2 * y - mu / v);
        const double newton = f / slope;
        const double curve = (2 * y - mu / (v * v)) / slope;
        const double halley = newton / (1 - 0.5 * newton * curve);
        const double last = e;
        e = std::fmax(last - (std::fabs(newton * curve) < 1 ? halley : newton), least);
        if (r > 0 && e > 0) e = 0.5 * last;
        if (e == least && last == least) break;
        if (!(std::fabs(e - last) > 4e-6 * std::fabs(e))) break;
    }
    return e;
}

// the h of the first step, 0 where the formula has none
inline double first_h(double z, double mu, double y) {
    const double from = away_from_zero(z);
    const double sd = std::sqrt(std::fmax(2 * y - mu, y));
    double e = std::fmax(-from / sd, mu / y - 1);
    e = centre_root(mu, y, from, e);
    const double v = 1 + e;
    const double c2 = 2 * y * v - mu;
    const double r = signed_root(from, -e / v * std::sqrt(c2)) + (z - from);
    if (!(r == r)) return 0;
    if (r * from <= 0) {
        e = -r / std::sqrt(2 * y - mu);
    } else {
        e = centre_root(mu, y, r, e + from * (r - from) / (e * (2 * y - mu / v)));
    }
    const double h = (1 + e) * (y * (1 + e) - mu);
    return h > 0 && h < inf ? h : 0;
}

// Bounds the noncentrality: P(X <= x) is at most exp(-(s - rho)^2/2) beyond rho, and
// sqrt(-2 log Phi(z)) at most this.
inline double lower_reach(double z) { return std::fmax(-z, 0) + 1.2; }

constexpr double step_leaves = 5e-17;  // of the score, over 1 + |z|
// How far a step may go for that to be known: by the change of the slope's logarithm
constexpr double short_step = 0.1;
constexpr double short_in_df = 0.01;  // the same for degrees of freedom
// A score that is so little above that of the limit is taken for it, over 1 + |z|.
constexpr double limit_room = 1.2e-14;

// The step that corrects the score by `miss`, by two terms of the inverse series, and
// whether what they leave is that little
struct LastStep {
    double by;
    bool ends;
};
inline LastStep step_of(const ScoreHere& at, double miss, double most) {
    const double newton = miss / at.slope;
    const double bend = 0.5 * newton * at.lean;
    const double size = std::fabs(newton);
    const double third = size * (at.lean * at.lean / 3 + at.turn / 6);
    const double left = std::fabs(miss) * (at.off + size * (at.blur + third));
    const bool near_by = std::fabs(bend) < 0.25;
    const bool is_short = size * at.terms <= most && size * size * at.turn <= most * most;
    return {near_by ? newton * (1 - bend) : newton,
            is_short && left <= step_leaves * (1 + std::fabs(at.z.hi))};
}

// nc at which the score of P(X <= x) is z, both finite, x > 0: NaN where z is above that
// of the central law.
inline Sum2 noncentrality(Sum2 score, double df, FixedPoint at) {
    const double z = score.hi;
    const double reach = at.radius() + lower_reach(z);
    double low = 0;
    double high = reach * reach * (1 + 1e-15);
    double nc = std::fmin(2 * first_h(z, 0.5 * df, at.y()), high);
    bool zero_known = false;
    for (int i = 0; i < 200; ++i) {
        const ScoreHere here = score_in_h(at, df, nc);
        const double miss = (score - here.z).hi;
        if (!(miss == miss)) return {nan, 0};
        if (nc == 0) {
            zero_known = true;
            if (miss > 0)
                return {miss <= limit_room * (1 + std::fabs(z)) ? 0 : nan, 0};
        }
        (miss > 0 ? high : low) = nc;
        const LastStep step = step_of(here, miss, short_step);
        const Sum2 next = two_sum(nc, 2 * step.by);
        if (next.hi >= 0 && step.ends) return next;
        nc = next.hi;
        if (!(nc > low && nc < high)) {
            const double middle = 0.5 * (std::sqrt(low) + std::sqrt(high));
            nc = low == 0 && !zero_known ? 0 : middle * middle;
            if (zero_known || low > 0)
                if (!(nc > low && nc < high)) return {low, 0};
        }
    }
    return {nan, 0};
}

inline Sum2 noncentrality_of(Sum2 score, double df, FixedPoint at) {
    const double z = score.hi;
    if (!(df >= least_df && df <= most_df && at.x.hi >= 0 && z == z)) return {nan, 0};
    if (z == -inf) return {inf, 0};
    const double rho = at.radius();
    if (z == inf || rho == 0) return {nan, 0};
    if (rho >= 1e30 || -z >= 1e30) {  // the ball is a half-space
        const double s = rho - z;
        return {s >= 0 ? s * s : nan, 0};
    }
    return noncentrality(score, df, at);
}

inline double ncx2_noncentrality(Sum2 score, double x, double df) {
    return value(noncentrality_of(score, df, {{x, 0}, {0, 0}}));
}

// The distance a at which P(|Z| <= b) has the score, in 2 m dimensions
inline double marcum_distance(Sum2 score, double m, double b) {
    if (!(m >= 0.5 * least_df && m <= 0.5 * most_df && b >= 0)) return nan;
    if (b >= 1e30) return score.hi == inf ? nan : score.hi == -inf ? inf : b - score.hi;
    const Sum2 nc = noncentrality_of(score, 2 * m, {two_prod(b, b), {b, 0}});
    if (!(nc.hi > 0 && nc.hi < inf)) return nc.hi;
    return value(square_root(nc));
}

struct Law {
    double mu, tau, r, c2, log_ratio;
};
inline Law law_of(double mu, double y, double h) {
    const double c2 = std::sqrt(mu * mu + 4 * h * y);
    const double tau = 2 * y / (mu + c2) - 1;
    const double defect = log1p_defect(tau);
    const double square = mu * defect + h * tau * tau;
    return {mu, tau, std::copysign(std::sqrt(2 * square), tau), c2, tau - defect};
}

// the mu of the first step: Newton's towards the root r = z, and one more to that of the
// formula
inline double first_mu(double z, double y, double h) {
    const double root = 0.5 * (std::sqrt(z * z + 4 * (y + h)) - z);
    double mu = root * root - 2 * h;
    if (!(mu > 0)) mu = 1e-3 * (1 + y);
    for (int i = 0; i < 12; ++i) {
        const Law at = law_of(mu, y, h);
        const bool centre = std::fabs(at.r) < 1e-6;
        const double sd = std::sqrt(at.c2);
        const double slope = centre ? 1 / sd : at.log_ratio / at.r;
        double miss = at.r - z;
        const bool last = std::fabs(miss) * sd < 0.3;
        if (last && !centre) miss += std::log(at.tau * sd / at.r) / at.r;
        mu = std::fmax(mu + miss / slope, 0.25 * mu);
        if (last) break;
    }
    return mu < 0.5 * most_df ? mu : 0.5 * most_df;
}

// With the slope of the secant to the point before, `run` away, where that is better
constexpr double short_run = 0.05;
constexpr double small_off = 1e-3;
inline ScoreHere with_secant(ScoreHere at, double run, double rise) {
    const double noise = 4e-16 * (1 + std::fabs(at.z.hi)) / std::fabs(rise);
    const double size = std::fabs(run);
    const double blur = at.blur + at.terms * at.off;
    const double off = noise + size * (blur + size * (at.lean * at.lean + at.turn));
    const bool is_short = size * at.terms <= short_run &&
                          size * size * at.turn <= short_run * short_run;
    if (!(is_short && off < std::fmin(at.off, small_off))) return at;
    at.slope = rise / run * (1 + 0.5 * run * at.lean);
    at.off = off;
    return at;
}

// Where the degrees of freedom lie, and which ends were evaluated
struct Between {
    double low = least_df;
    double high = most_df;
    bool low_known = false;
    bool high_known = false;

    void put(double df, bool too_many) {
        (too_many ? high : low) = df;
        (too_many ? high_known : low_known) = true;
    }
    bool holds(double df) const { return df > low && df < high; }
    // what is to be evaluated where a step leaves the interval: NaN if its ends are
    // neighbours that were
    double inner(double df) const {
        if (!low_known && !(df > low)) return least_df;
        if (!high_known && !(df < high)) return most_df;
        const double middle =
            high > 4 * low ? std::sqrt(low) * std::sqrt(high) : 0.5 * (low + high);
        if (holds(middle)) return middle;
        return !low_known ? low : !high_known ? high : nan;
    }
};

// From so many degrees of freedom on it is proved what the last step leaves; below, the
// result is a point that was evaluated, with a score that is off by this over 1 + |z|.
constexpr double sure_df = 2;
constexpr double checked_room = 1e-14;

// A step of the degrees of freedom. Few of them have a score that is nearly a function of
// their logarithm at nc = 0, and nearly straight elsewhere: steps in the logarithm go up,
// and down where the straight line ends below 0.
inline double moved_degrees(double df, double by) {
    const double line = df + by;
    if (df >= 1 || (by <= 0 && line > 0)) return line;
    const double scaled = df * std::exp(by / df);
    return scaled < 1 ? scaled : line;
}

// df at which the score of P(X <= x) is z, both finite, x > 0: NaN where z is above that
// of no degrees of freedom, or below that of the most.
inline double degrees(Sum2 score, double nc, FixedPoint at) {
    const double z = score.hi;
    const double room = limit_room * (1 + std::fabs(z));
    Between between;
    double df = std::fmax(2 * first_mu(z, at.y(), 0.5 * nc), least_df);
    double last_df = nan;
    Sum2 last_z = {nan, 0};
    bool settled = false;  // df is what a last step led to
    for (int i = 0; i < 300; ++i) {
        ScoreHere here = score_in_mu(at, df, nc);
        const double miss = (score - here.z).hi;
        if (!(miss == miss)) return nan;
        between.put(df, miss > 0);
        if (miss > 0 && df == least_df) return miss <= room ? 0 : nan;
        if (miss < 0 && df == most_df) return miss >= -room ? most_df : nan;
        here = with_secant(here, 0.5 * (df - last_df), (here.z - last_z).hi);
        const LastStep step = step_of(here, miss, short_in_df);
        const double next = moved_degrees(df, 2 * step.by);
        const double least = std::fmin(std::fmin(df, last_df), next);
        if (step.ends && least >= sure_df && next <= most_df) return next;
        const bool good = std::fabs(miss) <= checked_room * (1 + std::fabs(z));
        if (good && (settled || next == df)) return df;
        settled = step.ends && between.holds(next);
        last_df = df;
        last_z = here.z;
        df = between.holds(next) ? next : between.inner(next);
        if (!(df == df)) return between.low;
    }
    return nan;
}

inline double ncx2_degrees(Sum2 score, double x, double nc) {
    const double z = score.hi;
    if (!(nc >= 0 && nc <= 1e60 && x >= 0 && z == z)) return nan;
    if (z == -inf) return inf;
    if (x == 0 || x >= 1e120) return nan;
    if (z == inf) return nc == 0 ? 0 : nan;
    return degrees(score, nc, {{x, 0}, {0, 0}});
}

}  // namespace rsb
