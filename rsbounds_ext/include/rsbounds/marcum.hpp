// Marcum's Q, the Rice and Skellam laws, and the parameters of a noncentral chi-square law.
//
// Marcum   Q_m(a, b) = P(|Z| > b), Z ~ N(a e1, I_2m): the ball of radius b with its centre at
//          distance a. b^2 and a^2 enter as exact squares, the complement as the lower tail.
// Rice     |Z| in the plane: m = 1.
// Skellam  K1 - K2, independent Poisson counts of means mu1, mu2. A count is at most k when the
//          sum of k + 1 unit exponentials exceeds its mean; mixed over the other count, that is
//            P(K1 - K2 <= k) = P(ncx2(2k + 2, 2 mu2) > 2 mu1),   k >= 0,
//                            = P(ncx2(-2k, 2 mu1) <= 2 mu2),     k < 0.
// Inverses The score of the lower tail falls as nc or df grows, and is nearly linear in
//          t = sqrt(df/2 + nc), half the standard deviation: secants in t inside a bracket. The
//          parameter itself moves, by (t' - t)(t' + t) and twice that for df, so that a small one
//          keeps its digits. For nc the bracket ends at s = rho - z: a ball has less probability
//          than the half-space that holds it. Error: that of the score, and the last secant's,
//          which is below it.
#pragma once

#include "api.hpp"

namespace rsb {

inline bool marcum_domain(double m, double a) {
    return m >= 0.5 * least_df && m <= 0.5 * most_df && a >= 0 && a <= 1e30;
}

template <class F>
double with_marcum_tail(double m, double a, double b, F f) {
    const Sum2 nc = two_prod(a, a), x = two_prod(b, b);
    if (!(m < 0.5 && nc.hi * x.hi < 64))
        return f(tail_of(2 * m, nc, x.hi, {b, 0}, square_excess(b, 2 * m, a)));
    const Sum2 l = log_two(b);
    return f(Mixture(m, {0.5 * nc.hi, 0.5 * nc.lo}, {0.5 * x.hi, 0.5 * x.lo}, {2 * l.hi, 2 * l.lo},
                     std::pow(b, 2 * m) * std::exp2(-m)));
}

// b with z the score of P(|Z| <= b)
inline double marcum_radius(double z, double m, double a) {
    if (!(marcum_domain(m, a) && z == z)) return nan;
    if (m < 0.5 && !far_from_zero(z, a * a)) {
        const double log_q = log_ndtr(-z), far = a + normal_reach(log_q);
        if (far >= half_space) return far;
        return small_quantile(log_ndtr(z), log_q, (far + 2) * (1 + 1e-15), 2 * m,
                              [=](double b, auto f) { return with_marcum_tail(m, a, b, f); });
    }
    if (std::fabs(z) == inf) return z < 0 ? 0 : inf;
    const Ball ball = ball_at(z, 2 * m, a);
    return a <= 0.5 * ball.rho ? ball.rho : a + ball.u;
}

// The parameter in (low, high) of score z; `score` falls. t^2 = rest + weight * parameter.
template <class Score>
double parameter_at(Score score, double z, double low, double f_low, double high, double guess,
                    double rest, double weight) {
    const auto root = [=](double q) { return std::sqrt(rest + weight * q); };
    const double enough = 4e-16 * std::fmax(1, std::fabs(z));
    double last = low, f_last = f_low, best = low, f_best = f_low;
    double q = guess > low && guess < high ? guess : low + 0.5 * (high - low);
    for (int i = 0; i < 150; ++i) {
        const double f = score(q) - z;
        if (std::fabs(f) <= f_best) best = q, f_best = std::fabs(f);
        if (f_best <= enough) break;
        (f > 0 ? low : high) = q;
        const double t = root(q), dt = -f * ((t - root(last)) / (f - f_last));
        double next = i < 20 ? q + dt * (2 * t + dt) / weight : nan;
        if (!(next > low && next < high)) next = low + 0.5 * (high - low);
        if (!(next > low && next < high)) break;
        last = q, f_last = f, q = next;
    }
    return best;
}

constexpr auto score_of = [](const auto& t) { return t.score(); };
constexpr auto tail_given = [](bool upper) {
    return [=](const auto& t) { return upper ? t.above() : t.below(); };
};

// whether a tail given as p is the tail v to within the errors of both
inline bool same_tail(double p, double v) {
    return std::fabs(p - v) <= v * (1e-14 - 2e-15 * std::log(v));
}

// The parameter in [low, high] at which a tail is p, by the smaller tail's logarithm: for df < 1,
// where a parameter may have any magnitude. with(parameter, f) is f of the tails.
template <class With>
double small_df_parameter(With with, double p, bool upper, double low, double high) {
    const double direct = std::log(p), other = std::log1p(-p), wanted = std::fmin(direct, other);
    const bool above = (direct < other) == upper;  // the smaller tail is the one above x
    return log_root(
        [=](double q) {
            return with(q, [=](const auto& t) { return above ? t.log_upper() : t.log_lower(); }) - wanted;
        },
        low, high);
}

// nc with P(X <= x) = p, or P(X > x) = p where `upper`
inline double ncx2_noncentrality(double x, double df, double p, bool upper) {
    if (!(ncx2_domain(df, 0) && x > 0 && x < 1e120 && p >= 0 && p <= 1)) return nan;
    const double z = upper ? -ndtri(p) : ndtri(p), rho = std::sqrt(x);
    if (z == -inf) return inf;
    const auto score = [=](double nc) { return with_ncx2_tail(x, df, nc, score_of); };
    const double f_low = score(0) - z, end = rho - z;
    if (!(f_low > 0)) return same_tail(p, with_ncx2_tail(x, df, 0, tail_given(upper))) ? 0 : nan;
    double high = end * end * (1 + 1e-15);
    if (df < 1) {  // no ball: the law lies below that of one degree, and nc may exceed its own
        while (high <= 1e60 && !(score(high) < z)) high = 2 * (high + 1);
        if (!(high <= 1e60)) return nan;
        const auto with = [=](double nc, auto f) { return with_ncx2_tail(x, df, nc, f); };
        const double found =
            small_df_parameter(with, p, upper, std::numeric_limits<double>::denorm_min(), high);
        return found == found ? found : 0;
    }
    if (!(high <= 1e60)) return nan;
    const double t = std::sqrt(std::fmax(z * z + x - 0.5 * df, 0)) - z;
    return parameter_at(score, z, 0, f_low, high, t * t - 0.5 * df, 0.5 * df, 1);
}

// df below 1 with P(X <= x) = p, or P(X > x) = p where `upper`
inline double ncx2_small_freedom(double x, double p, double nc, bool upper) {
    const auto with = [=](double df, auto f) { return with_ncx2_tail(x, df, nc, f); };
    const double found = small_df_parameter(with, p, upper, least_df, 1);
    if (found == found) return found;
    constexpr double ends[] = {1, least_df};
    for (const double end : ends)
        if (same_tail(p, with_ncx2_tail(x, end, nc, tail_given(upper)))) return end;
    return nan;
}

// df with P(X <= x) = p, or P(X > x) = p where `upper`
inline double ncx2_freedom(double x, double p, double nc, bool upper) {
    if (!(nc >= 0 && nc <= 1e60 && x > 0 && x < 1e120 && p >= 0 && p <= 1)) return nan;
    const double z = upper ? -ndtri(p) : ndtri(p);
    const auto score = [=](double df) { return with_ncx2_tail(x, df, nc, score_of); };
    const double f_low = score(1) - z;
    if (!(f_low > 0)) return ncx2_small_freedom(x, p, nc, upper);
    if (!(score(most_df) < z))
        return same_tail(p, with_ncx2_tail(x, most_df, nc, tail_given(upper))) ? most_df : nan;
    const double t = 0.5 * (std::sqrt(z * z + 2 * (x + nc)) - z);
    return parameter_at(score, z, 1, f_low, most_df, 2 * (t * t - nc), nc, 0.5);
}

namespace api {

// the tails of |Z| at 0 < b < 1e60 from `value`, at 0 and beyond from the two limits
template <class F>
double marcum(double m, double a, double b, double at_zero, double far, F value) {
    if (!(marcum_domain(m, a) && b >= 0)) return flagged(nan);
    if (b == 0) return at_zero;
    if (b >= half_space) return far;
    return with_marcum_tail(m, a, b, value);
}

inline double marcum_q(double m, double a, double b) {
    return marcum(m, a, b, 1, 0, [](const auto& t) { return t.above(); });
}
inline double marcum_p(double m, double a, double b) {
    return marcum(m, a, b, 0, 1, [](const auto& t) { return t.below(); });
}
inline double marcum_logq(double m, double a, double b) {
    return marcum(m, a, b, 0, -0.5 * b * b, [](const auto& t) { return t.log_upper(); });
}
inline double marcum_logp(double m, double a, double b) {
    return marcum(m, a, b, -inf, 0, [](const auto& t) { return t.log_lower(); });
}
inline double marcum_q_inv(double q, double m, double a) {
    return flagged(marcum_radius(-rsb::ndtri(q), m, a));
}
inline double marcum_p_inv(double p, double m, double a) {
    return flagged(marcum_radius(rsb::ndtri(p), m, a));
}

inline double rice_sf(double x, double nu) { return marcum_q(1, nu, x); }
inline double rice_cdf(double x, double nu) { return marcum_p(1, nu, x); }
inline double rice_logsf(double x, double nu) { return marcum_logq(1, nu, x); }
inline double rice_logcdf(double x, double nu) { return marcum_logp(1, nu, x); }

// P(K1 - K2 <= k) is a tail of the one or of the other noncentral chi-square law
template <class F>
double skellam(double k, double mu1, double mu2, F upper, F lower) {
    if (!(mu1 >= 0 && mu1 <= 5e59 && mu2 >= 0 && mu2 <= 5e59)) return flagged(nan);
    k = std::floor(k);
    return k >= 0 ? upper(2 * mu1, 2 * k + 2, 2 * mu2) : lower(2 * mu2, -2 * k, 2 * mu1);
}
inline double skellam_cdf(double k, double mu1, double mu2) {
    return skellam(k, mu1, mu2, ncx2_sf, ncx2_cdf);
}
inline double skellam_sf(double k, double mu1, double mu2) {
    return skellam(k, mu1, mu2, ncx2_cdf, ncx2_sf);
}
inline double skellam_logcdf(double k, double mu1, double mu2) {
    return skellam(k, mu1, mu2, ncx2_logsf, ncx2_logcdf);
}
inline double skellam_logsf(double k, double mu1, double mu2) {
    return skellam(k, mu1, mu2, ncx2_logcdf, ncx2_logsf);
}

inline double ncx2_cdf_inv_nc(double x, double df, double p) {
    return flagged(ncx2_noncentrality(x, df, p, false));
}
inline double ncx2_sf_inv_nc(double x, double df, double p) {
    return flagged(ncx2_noncentrality(x, df, p, true));
}
inline double ncx2_cdf_inv_df(double x, double p, double nc) {
    return flagged(ncx2_freedom(x, p, nc, false));
}
inline double ncx2_sf_inv_df(double x, double p, double nc) {
    return flagged(ncx2_freedom(x, p, nc, true));
}

}  // namespace api
}  // namespace rsb
