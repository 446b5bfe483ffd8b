// The scalar functions that users call from C++ (rsb::api), Cython, numba and, as
// ufuncs, Python. Here each gets its domain and the limits at its ends; the headers
// below have the formulas. Outside the domain, and for NaN, the result is NaN; the
// ufuncs then raise the invalid flag.
#pragma once

#include "affine.hpp"
#include "binomial.hpp"
#include "central_block.hpp"
#include "central_quantile.hpp"
#include "lipschitz.hpp"
#include "marcum.hpp"
#include "noncentrality.hpp"
#include "renyi.hpp"
#include "scores.hpp"

namespace rsb::api {

using namespace rsb;  // the kernels whose headers know their own domain

inline double round_down(double value, double error) {
    return rounded(value, error, -inf);
}
inline double round_up(double value, double error) {
    return rounded(value, error, inf);
}

// What the tails of either kind (ball.hpp, small_df.hpp) are asked for.
inline constexpr auto below = [](const auto& t) { return t.below(); };
inline constexpr auto above = [](const auto& t) { return t.above(); };
inline constexpr auto log_below = [](const auto& t) { return t.log_lower(); };
inline constexpr auto log_above = [](const auto& t) { return t.log_upper(); };
inline constexpr auto density = [](const auto& t) { return t.density_of_x(); };
inline constexpr auto log_density = [](const auto& t) { return t.log_density(); };

// A function of the law at x: `value` of its tails for 0 < x < 1e120, else one of the
// two limits.
template <class F>
double ncx2(double x, double df, double nc, double at_zero, double far, F value) {
    if (!(ncx2_domain(df, nc) && x >= 0)) return nan;
    return x == 0 ? at_zero : x >= 1e120 ? far : with_ncx2_tail(x, df, nc, value);
}
// At df = 0 the law has the mass e^(-nc/2) at 0. Point and noncentrality trade places:
// P(X <= x) is the upper tail at nc of two degrees of freedom with noncentrality x, and
// the density beside 0 that of four.
template <class F>
double ncx2_none(double x, double df, double nc, double no_nc, double far, F value) {
    if (!(nc >= 0 && nc <= 1e60 && x >= 0)) return nan;
    return nc == 0 ? no_nc : x >= 1e120 ? far : with_ncx2_tail(nc, df, x, value);
}
inline double ncx2_cdf(double x, double df, double nc) {
    return df == 0 ? ncx2_none(x, 2, nc, 1, 1, above) : ncx2(x, df, nc, 0, 1, below);
}
inline double ncx2_sf(double x, double df, double nc) {
    return df == 0 ? ncx2_none(x, 2, nc, 0, 0, below) : ncx2(x, df, nc, 1, 0, above);
}
inline double ncx2_logcdf(double x, double df, double nc) {
    return df == 0 ? ncx2_none(x, 2, nc, 0, 0, log_above)
                   : ncx2(x, df, nc, -inf, 0, log_below);
}
inline double ncx2_logsf(double x, double df, double nc) {
    return df == 0 ? ncx2_none(x, 2, nc, -inf, -0.5 * x, log_below)
                   : ncx2(x, df, nc, 0, -0.5 * x, log_above);
}
// Of many
inline void ncx2_cdf_block(const double (&x)[law_block], const double (&df)[law_block],
                           const double (&nc)[law_block], double (&out)[law_block]) {
    ncx2_block(x, df, nc, out, ncx2_cdf, below);
}
inline void ncx2_sf_block(const double (&x)[law_block], const double (&df)[law_block],
                          const double (&nc)[law_block], double (&out)[law_block]) {
    ncx2_block(x, df, nc, out, ncx2_sf, above);
}
inline void ncx2_logcdf_block(const double (&x)[law_block],
                              const double (&df)[law_block],
                              const double (&nc)[law_block], double (&out)[law_block]) {
    ncx2_block(x, df, nc, out, ncx2_logcdf, log_below);
}
inline void ncx2_logsf_block(const double (&x)[law_block],
                             const double (&df)[law_block],
                             const double (&nc)[law_block], double (&out)[law_block]) {
    ncx2_block(x, df, nc, out, ncx2_logsf, log_above);
}

inline double ncx2_pdf(double x, double df, double nc) {
    const double at_zero = df > 2 ? 0 : df == 2 ? 0.5 * std::exp(-0.5 * nc) : inf;
    if (df == 0 && x > 0) return ncx2_none(x, 4, nc, 0, 0, density);
    return ncx2(x, df == 0 ? 1 : df, nc, at_zero, 0, density);
}
inline double ncx2_logpdf(double x, double df, double nc) {
    const double at_zero = df > 2 ? -inf : df == 2 ? -ln2 - 0.5 * nc : inf;
    if (df == 0 && x > 0) return ncx2_none(x, 4, nc, -inf, -0.5 * x, log_density);
    return ncx2(x, df == 0 ? 1 : df, nc, at_zero, -0.5 * x, log_density);
}

// The x that is the noncentrality of the law in the other places; 0 within its mass
inline double ncx2_quantile_of_none(Sum2 z, double nc) {
    if (!(nc >= 0 && nc <= 1e60 && z.hi == z.hi)) return nan;
    const double x = ncx2_noncentrality(-z, nc, 2);
    return x == x ? x : 0;
}

// The x whose lower tail (or upper, if `upper`) is p, or e^p if `in_log`.
template <bool in_log, bool upper>
double ncx2_inverse(double p, double df, double nc) {
    const Sum2 score = in_log ? ndtri_exp_two(p) : ndtri_two(p);
    const Sum2 z = upper ? -score : score;
    if (df == 0) return ncx2_quantile_of_none(z, nc);
    const double own = in_log ? std::exp(p) : p;
    const double other = in_log ? -std::expm1(p) : 1 - p;
    const Goal goal = upper ? Goal{other, own} : Goal{own, other};
    const double central = nc == 0 ? central_quantile(z.hi, goal, df, nc) : nan;
    if (central == central) return central;
    if (!(df < 1)) return ncx2_quantile(z, df, nc);
    const double log_p = in_log ? p : std::log(p);
    const double log_q = in_log ? log1mexp(p) : std::log1p(-p);
    return small_df_quantile(z, upper ? log_q : log_p, upper ? log_p : log_q, df, nc);
}
inline constexpr auto ncx2_ppf = ncx2_inverse<false, false>,
                      ncx2_isf = ncx2_inverse<false, true>;
inline constexpr auto ncx2_ppf_exp = ncx2_inverse<true, false>,
                      ncx2_isf_exp = ncx2_inverse<true, true>;

// The same for the tails of |Z| at 0 < b < 1e60.
template <class F>
double marcum(double m, double a, double b, double at_zero, double far, F value) {
    if (!(marcum_domain(m, a) && b >= 0)) return nan;
    return b == 0 ? at_zero : b >= half_space ? far : with_marcum_tail(m, a, b, value);
}
// of order 0, as at df = 0
template <class F>
double marcum_none(double a, double b, double no_a, double far, F value) {
    if (!(a >= 0 && a <= 1e30 && b >= 0)) return nan;
    return a == 0 ? no_a : b >= half_space ? far : with_marcum_tail(1, b, a, value);
}
inline double marcum_q(double m, double a, double b) {
    return m == 0 ? marcum_none(a, b, 0, 0, below) : marcum(m, a, b, 1, 0, above);
}
inline double marcum_p(double m, double a, double b) {
    return m == 0 ? marcum_none(a, b, 1, 1, above) : marcum(m, a, b, 0, 1, below);
}
inline double marcum_logq(double m, double a, double b) {
    const double far = -0.5 * b * b;
    return m == 0 ? marcum_none(a, b, -inf, far, log_below)
                  : marcum(m, a, b, 0, far, log_above);
}
inline double marcum_logp(double m, double a, double b) {
    return m == 0 ? marcum_none(a, b, 0, 0, log_above)
                  : marcum(m, a, b, -inf, 0, log_below);
}
// The radius at which P(|Z| <= b) has the score; 0 within the mass of order 0
inline double marcum_radius_at(Sum2 z, double m, double a) {
    if (m != 0) return marcum_radius(z.hi, m, a);
    if (!(a >= 0 && a <= 1e30 && z.hi == z.hi)) return nan;
    const double b = marcum_distance(-z, 1, a);
    return b == b ? b : 0;
}
inline double marcum_q_inv(double q, double m, double a) {
    return marcum_radius_at(-ndtri_two(q), m, a);
}
inline double marcum_p_inv(double p, double m, double a) {
    return marcum_radius_at(ndtri_two(p), m, a);
}

// The parameter at which the lower tail at x (or the upper, if `upper`) is p, or e^p.
template <bool in_log, bool upper>
Sum2 lower_score(double p) {
    const Sum2 score = in_log ? ndtri_exp_two(p) : ndtri_two(p);
    return upper ? -score : score;
}
template <bool in_log, bool upper>
double ncx2_noncentrality_at(double p, double x, double df) {
    if (df == 0) {  // the quantile of the law in the other places
        if (!(x > 1e60)) return ncx2_inverse<in_log, !upper>(p, 2, x);
        const double root = std::sqrt(x) - lower_score<in_log, upper>(p).hi;
        return root == root ? root * std::fmax(root, 0) : nan;
    }
    return ncx2_noncentrality(lower_score<in_log, upper>(p), x, df);
}
template <bool in_log, bool upper>
double ncx2_degrees_at(double p, double x, double nc) {
    return ncx2_degrees(lower_score<in_log, upper>(p), x, nc);
}
inline constexpr auto ncx2_nc = ncx2_noncentrality_at<false, false>,
                      ncx2_nc_sf = ncx2_noncentrality_at<false, true>;
inline constexpr auto ncx2_nc_exp = ncx2_noncentrality_at<true, false>,
                      ncx2_nc_sf_exp = ncx2_noncentrality_at<true, true>;
inline constexpr auto ncx2_df = ncx2_degrees_at<false, false>,
                      ncx2_df_sf = ncx2_degrees_at<false, true>;
inline constexpr auto ncx2_df_exp = ncx2_degrees_at<true, false>,
                      ncx2_df_sf_exp = ncx2_degrees_at<true, true>;
inline double marcum_distance_at(Sum2 z, double m, double b) {
    if (m != 0 || b >= 1e30) return marcum_distance(z, m == 0 ? 1 : m, b);
    return marcum_radius(-z.hi, 1, b);
}
inline double marcum_q_inv_a(double q, double m, double b) {
    return marcum_distance_at(lower_score<false, true>(q), m, b);
}
inline double marcum_p_inv_a(double p, double m, double b) {
    return marcum_distance_at(lower_score<false, false>(p), m, b);
}

// What derivatives are made of: the density with two more degrees of freedom over the
// density, and the density over a tail.
inline double ncx2_density_ratio(double x, double df, double nc) {
    if (df == 0) df = least_df;  // nothing differs beside 0
    if (!(ncx2_domain(df, nc) && x >= 0)) return nan;
    if (x == 0) return 0;
    return x >= 1e120 ? x / (0.5 * df + std::sqrt(nc) * std::sqrt(x))
                      : density_ratio(x, df, nc);
}
template <bool upper>
double ncx2_hazard(double x, double df, double nc) {
    if (df == 0) df = least_df;
    if (!(ncx2_domain(df, nc) && x >= 0)) return nan;
    if (x == 0) return upper ? ncx2_pdf(0, df, nc) : inf;
    if (x >= 1e120) return upper ? 0.5 : 0;
    return density_over_tail(x, df, nc, upper);
}
inline constexpr auto ncx2_density_over_cdf = ncx2_hazard<false>,
                      ncx2_density_over_sf = ncx2_hazard<true>;

// Clopper and Pearson's bounds of a share of 0 < count < n, and their scores, to the
// safe side
inline double share_lower(double count, double n, double alpha) {
    return clopper_pearson(count, n, alpha).low;
}
inline double share_upper(double count, double n, double alpha) {
    return clopper_pearson(n - count, n, alpha).rest;
}
inline double share_lower_score(double count, double n, double alpha) {
    return clopper_pearson(count, n, alpha).score();
}
inline double share_upper_score(double count, double n, double alpha) {
    return -clopper_pearson(n - count, n, alpha).score();
}

// The score of the worst set's probability under sigma1, at that distance: X of
// gain.hpp.
inline double worst_score(double distance, double score, double sigma0, double sigma1,
                          double dim) {
    const bool up = sigma1 > sigma0;
    if (!(sigma0 > 0 && sigma0 < inf && sigma1 > 0 && sigma1 < inf && distance >= 0 &&
          distance < inf && dim >= 1 && dim <= 1e8))
        return nan;
    if (std::fabs(score) == inf) return score;
    const double log_ratio = std::log(sigma1) - std::log(sigma0);
    if (sigma0 / sigma1 < 1e-150)
        return remote_score(distance / sigma1, score, log_ratio, dim);
    Ratio r = ratio_of(sigma1 / sigma0, std::fabs(sigma1 - sigma0) / sigma0, up);
    if (r.k < 1e-300) r.log_k = log_ratio;
    return score + gain(score, distance / sigma0, r, up, dim).value;
}

// Radii: gap = z_a - z_b, lengths in one unit, the envelope's own parameters last.
template <class Envelope, class... P>
double radius(double z_a, double z_b, double gap, double sigma, double dim,
              double mean_lip, P... parameters) {
    return envelope_radius({z_a, z_b, gap, sigma, dim, mean_lip},
                           Envelope{parameters...});
}
inline constexpr auto semielastic_radius = radius<SemiElastic, double>;
inline constexpr auto lipschitz_radius = radius<LipschitzSigma, double, double>;
inline constexpr auto range_radius = radius<SigmaRange, double, double>;

// The radius that the larger noise levels alone allow (up = 1), or the smaller ones
// alone (up = 0).
template <class Envelope, class... P>
double branch(double z_a, double z_b, double gap, double sigma, double dim,
              double mean_lip, double up, P... parameters) {
    if (up != up) return nan;
    return lone_branch_radius({z_a, z_b, gap, sigma, dim, mean_lip},
                              Envelope{parameters...}, up != 0);
}
inline constexpr auto semielastic_branch = branch<SemiElastic, double>;
inline constexpr auto lipschitz_branch = branch<LipschitzSigma, double, double>;
inline constexpr auto range_branch = branch<SigmaRange, double, double>;

// 1 if the pair (sigma, sigma1) at that distance is certified with the error bound
// added, else 0. sigma1 may be 0 or infinite, which nothing certifies.
inline double pair_certified(double distance, double z_a, double z_b, double gap,
                             double sigma, double sigma1, double dim, double mean_lip) {
    const Budget p{z_a, z_b, gap, sigma, dim, mean_lip};
    if (!(p.valid() && distance >= 0 && sigma1 >= 0)) return nan;
    return certified(p, SigmaRange{sigma1, sigma1}, distance, sigma1 > sigma);
}

// 1 if an event of score z keeps a score above `least` at that distance under sigma1,
// with the error bound added, else 0: the opposite one, of -z, has X at most there.
inline double event_kept(double distance, double z, double least, double sigma,
                         double sigma1, double dim) {
    const Budget p{z, -z, 2 * z, sigma, dim, 0};
    if (!(p.valid() && least == least && distance >= 0 && sigma1 >= 0)) return nan;
    const bool up = sigma1 > sigma;
    const double outward = (1 + distance_error) * distance;
    const Ratio r = SigmaRange{sigma1, sigma1}.at(outward, sigma, up);
    const double alpha = std::fmax(outward / sigma, least_alpha);
    const Gain g = gain(-z, alpha, r, up, dim);
    const double sizes = 1 + std::fabs(z) + std::fabs(least) + std::fabs(g.value);
    return g.value + g.error + 4 * sum_error * sizes < z - least;
}

}  // namespace rsb::api
