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

inline Tail marcum_tail(double m, double a, double b) {
    return tail_of(2 * m, two_prod(a, a), b * b, {b, 0}, square_excess(b, 2 * m, a));
}

// b with z the score of P(|Z| <= b)
inline double marcum_radius(double z, double m, double a) {
    if (!(ball_domain(z, 2 * m, a) && a <= 1e30)) return nan;
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

// whether a tail given as p is the tail v to within the errors of both
inline bool same_tail(double p, double v) {
    return std::fabs(p - v) <= v * (1e-14 - 2e-15 * std::log(v));
}

// nc with P(X <= x) = p, or P(X > x) = p where `upper`
inline double ncx2_noncentrality(double x, double df, double p, bool upper) {
    if (!(ball_domain(x, df, 0) && x > 0 && x < 1e120 && p >= 0 && p <= 1)) return nan;
    const double z = upper ? -ndtri(p) : ndtri(p), rho = std::sqrt(x);
    if (z == -inf) return inf;
    const auto score = [=](double nc) { return ncx2_tail(x, df, nc).score(); };
    const Tail central = ncx2_tail(x, df, 0);
    const double f_low = central.score() - z, end = rho - z;
    if (!(f_low > 0)) return same_tail(p, upper ? central.above() : central.below()) ? 0 : nan;
    const double high = end * end * (1 + 1e-15), t = std::sqrt(std::fmax(z * z + x - 0.5 * df, 0)) - z;
    if (!(high <= 1e60)) return nan;
    return parameter_at(score, z, 0, f_low, high, t * t - 0.5 * df, 0.5 * df, 1);
}

constexpr double least_df = 1, most_df = 1e8;

// df with P(X <= x) = p, or P(X > x) = p where `upper`
inline double ncx2_freedom(double x, double p, double nc, bool upper) {
    if (!(nc >= 0 && nc <= 1e60 && x > 0 && x < 1e120 && p >= 0 && p <= 1)) return nan;
    const double z = upper ? -ndtri(p) : ndtri(p);
    const auto tail = [=](double df) { return ncx2_tail(x, df, nc); };
    const auto score = [=](double df) { return tail(df).score(); };
    const Tail most = tail(least_df), least = tail(most_df);
    const double f_low = most.score() - z;
    if (!(f_low > 0)) return same_tail(p, upper ? most.above() : most.below()) ? least_df : nan;
    if (!(least.score() < z)) return same_tail(p, upper ? least.above() : least.below()) ? most_df : nan;
    const double t = 0.5 * (std::sqrt(z * z + 2 * (x + nc)) - z);
    return parameter_at(score, z, least_df, f_low, most_df, 2 * (t * t - nc), nc, 0.5);
}

namespace api {

// the tails of |Z| at 0 < b < 1e60 from `value`, at 0 and beyond from the two limits
template <class F>
double marcum(double m, double a, double b, double at_zero, double far, F value) {
    if (!(ball_domain(b, 2 * m, a) && a <= 1e30 && b >= 0)) return flagged(nan);
    if (b == 0) return at_zero;
    if (b >= half_space) return far;
    return value(marcum_tail(m, a, b));
}

inline double marcum_q(double m, double a, double b) {
    return marcum(m, a, b, 1, 0, [](const Tail& t) { return t.above(); });
}
inline double marcum_p(double m, double a, double b) {
    return marcum(m, a, b, 0, 1, [](const Tail& t) { return t.below(); });
}
inline double marcum_logq(double m, double a, double b) {
    return marcum(m, a, b, 0, -0.5 * b * b, [](const Tail& t) { return t.log_upper(); });
}
inline double marcum_logp(double m, double a, double b) {
    return marcum(m, a, b, -inf, 0, [](const Tail& t) { return t.log_lower(); });
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
