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
#include "renyi.hpp"

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

// A function of the law at x: `value` of its tails for 0 < x < 1e120, else one of the
// two limits.
template <class F>
double ncx2(double x, double df, double nc, double at_zero, double far, F value) {
    if (!(ncx2_domain(df, nc) && x >= 0)) return nan;
    return x == 0 ? at_zero : x >= 1e120 ? far : with_ncx2_tail(x, df, nc, value);
}
inline double ncx2_cdf(double x, double df, double nc) {
    return ncx2(x, df, nc, 0, 1, below);
}
inline double ncx2_sf(double x, double df, double nc) {
    return ncx2(x, df, nc, 1, 0, above);
}
inline double ncx2_logcdf(double x, double df, double nc) {
    return ncx2(x, df, nc, -inf, 0, log_below);
}
inline double ncx2_logsf(double x, double df, double nc) {
    return ncx2(x, df, nc, 0, -0.5 * x, log_above);
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
    return ncx2(x, df, nc, at_zero, 0, [](const auto& t) { return t.density_of_x(); });
}
inline double ncx2_logpdf(double x, double df, double nc) {
    const double at_zero = df > 2 ? -inf : df == 2 ? -ln2 - 0.5 * nc : inf;
    return ncx2(x, df, nc, at_zero, -0.5 * x,
                [](const auto& t) { return t.log_density(); });
}

// The x whose lower tail (or upper, if `upper`) is p, or e^p if `in_log`.
template <bool in_log, bool upper>
double ncx2_inverse(double p, double df, double nc) {
    const Sum2 score = in_log ? ndtri_exp_two(p) : ndtri_two(p);
    const Sum2 z = upper ? -score : score;
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
inline double marcum_q(double m, double a, double b) {
    return marcum(m, a, b, 1, 0, above);
}
inline double marcum_p(double m, double a, double b) {
    return marcum(m, a, b, 0, 1, below);
}
inline double marcum_logq(double m, double a, double b) {
    return marcum(m, a, b, 0, -0.5 * b * b, log_above);
}
inline double marcum_logp(double m, double a, double b) {
    return marcum(m, a, b, -inf, 0, log_below);
}
inline double marcum_q_inv(double q, double m, double a) {
    return marcum_radius(-ndtri(q), m, a);
}
inline double marcum_p_inv(double p, double m, double a) {
    return marcum_radius(ndtri(p), m, a);
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

}  // namespace rsb::api
