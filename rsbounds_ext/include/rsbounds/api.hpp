// The scalar functions as users call them: domain, limits and the invalid flag.
// Outside the domain, and for NaN, the result is NaN and FE_INVALID is raised.
#pragma once

#include <cfenv>

#include "lipschitz.hpp"
#include "renyi.hpp"
#include "small_df.hpp"

namespace rsb::api {

inline double flagged(double x) {
    if (x != x) std::feraiseexcept(FE_INVALID);
    return x;
}

inline double log_ndtr(double z) { return flagged(rsb::log_ndtr(z)); }
inline double ndtri(double p) { return flagged(rsb::ndtri(p)); }
inline double ndtri_exp(double log_p) { return flagged(rsb::ndtri_exp(log_p)); }
inline double round_down(double value, double error) { return flagged(rounded(value, error, -inf)); }
inline double round_up(double value, double error) { return flagged(rounded(value, error, inf)); }
inline double half_gap(double p_a, double p_b) { return flagged(rsb::half_gap(p_a, p_b)); }
inline double ball_score(double u, double dim, double s) {
    return flagged(rsb::ball_score(u, dim, s));
}
inline double ball_offset(double z, double dim, double s) {
    return flagged(rsb::ball_offset(z, dim, s));
}

// the tails of X at 0 < x < 1e120 from `value`, at 0 and beyond from the two limits
template <class F>
double ncx2(double x, double df, double nc, double at_zero, double far, F value) {
    if (!(ncx2_domain(df, nc) && x >= 0)) return flagged(nan);
    if (x == 0) return at_zero;
    if (x >= 1e120) return far;
    return flagged(with_ncx2_tail(x, df, nc, value));
}

inline double ncx2_cdf(double x, double df, double nc) {
    return ncx2(x, df, nc, 0, 1, [](const auto& t) { return t.below(); });
}
inline double ncx2_sf(double x, double df, double nc) {
    return ncx2(x, df, nc, 1, 0, [](const auto& t) { return t.above(); });
}
inline double ncx2_logcdf(double x, double df, double nc) {
    return ncx2(x, df, nc, -inf, 0, [](const auto& t) { return t.log_lower(); });
}
inline double ncx2_logsf(double x, double df, double nc) {
    return ncx2(x, df, nc, 0, -0.5 * x, [](const auto& t) { return t.log_upper(); });
}
inline double ncx2_logpdf(double x, double df, double nc) {
    const double at_zero = df > 2 ? -inf : df == 2 ? -ln2 - 0.5 * nc : inf;
    return ncx2(x, df, nc, at_zero, -0.5 * x,
                [](const auto& t) { return t.log_density(); });
}
inline double ncx2_pdf(double x, double df, double nc) {
    const double at_zero = df > 2 ? 0 : df == 2 ? 0.5 * std::exp(-0.5 * nc) : inf;
    return ncx2(x, df, nc, at_zero, 0, [](const auto& t) { return t.density_of_x(); });
}
inline double ncx2_ppf(double p, double df, double nc) {
    if (df < 1) return flagged(small_df_quantile(rsb::ndtri_two(p), std::log(p), std::log1p(-p), df, nc));
    return flagged(ncx2_quantile(rsb::ndtri_two(p), df, nc));
}
inline double ncx2_isf(double p, double df, double nc) {
    if (df < 1) return flagged(small_df_quantile(-rsb::ndtri_two(p), std::log1p(-p), std::log(p), df, nc));
    return flagged(ncx2_quantile(-rsb::ndtri_two(p), df, nc));
}
inline double ncx2_ppf_exp(double log_p, double df, double nc) {
    const Sum2 z = rsb::ndtri_exp_two(log_p);
    if (df < 1) return flagged(small_df_quantile(z, log_p, log1mexp(log_p), df, nc));
    return flagged(ncx2_quantile(z, df, nc));
}
inline double ncx2_isf_exp(double log_p, double df, double nc) {
    const Sum2 z = -rsb::ndtri_exp_two(log_p);
    if (df < 1) return flagged(small_df_quantile(z, log1mexp(log_p), log_p, df, nc));
    return flagged(ncx2_quantile(z, df, nc));
}

inline double lipschitz_ratio(double z, double dim) { return flagged(rsb::lipschitz_ratio(z, dim)); }
inline double lipschitz_slope(double z, double dim) { return flagged(rsb::lipschitz_slope(z, dim)); }

// X for sigma1 so far above sigma0 that the ball's volume and the density at its centre, `offset`
// in units of sigma1, give its probability
inline double remote_score(double offset, double score, double log_ratio, double dim) {
    if (offset >= half_space) return offset;
    const double volume = std::lgamma(0.5 * dim + 1), rho = rsb::ball_offset(-score, dim, 0);
    const double log_rho = rho > 1e-140 ? std::log(rho) - 0.5 * ln2 : (rsb::log_ndtr(-score) + volume) / dim;
    return -rsb::ndtri_exp(dim * (log_rho - log_ratio) - volume - 0.5 * offset * offset);
}

// X of envelope.hpp: the score of the worst set's probability under sigma1 at that distance
inline double worst_score(double distance, double score, double sigma0, double sigma1, double dim) {
    const bool up = sigma1 > sigma0;
    if (!(sigma0 > 0 && sigma0 < inf && sigma1 > 0 && sigma1 < inf && distance >= 0 &&
          distance < inf && dim >= 1 && dim <= 1e8))
        return flagged(nan);
    if (std::fabs(score) == inf) return score;
    if (sigma0 / sigma1 < 1e-150)
        return flagged(remote_score(distance / sigma1, score, std::log(sigma1) - std::log(sigma0), dim));
    Ratio r = SigmaRange{sigma1, sigma1}.at(0, sigma0, up);
    if (r.k < 1e-300) r.log_k = std::log(sigma1) - std::log(sigma0);
    return flagged(score + gain(score, distance / sigma0, r, up, dim).value);
}

template <class Envelope>
double radius(double z_a, double z_b, double gap, double sigma, double dim, double mean_lip,
              const Envelope& e) {
    return flagged(envelope_radius(Budget{z_a, z_b, gap, sigma, dim, mean_lip}, e));
}
template <class Envelope>
double branch(double z_a, double z_b, double gap, double sigma, double dim, double mean_lip, double up,
              const Envelope& e) {
    if (up != up) return flagged(nan);
    return flagged(lone_branch_radius(Budget{z_a, z_b, gap, sigma, dim, mean_lip}, e, up != 0));
}

inline double semielastic_radius(double z_a, double z_b, double gap, double sigma, double dim,
                                 double mean_lip, double rate) {
    return radius(z_a, z_b, gap, sigma, dim, mean_lip, SemiElastic{rate});
}
inline double lipschitz_radius(double z_a, double z_b, double gap, double sigma, double dim, double mean_lip,
                               double lip, double floor) {
    return radius(z_a, z_b, gap, sigma, dim, mean_lip, LipschitzSigma{lip, floor});
}
inline double range_radius(double z_a, double z_b, double gap, double sigma, double dim, double mean_lip,
                           double low, double high) {
    return radius(z_a, z_b, gap, sigma, dim, mean_lip, SigmaRange{low, high});
}
inline double semielastic_branch(double z_a, double z_b, double gap, double sigma, double dim,
                                 double mean_lip, double up, double rate) {
    return branch(z_a, z_b, gap, sigma, dim, mean_lip, up, SemiElastic{rate});
}
inline double lipschitz_branch(double z_a, double z_b, double gap, double sigma, double dim, double mean_lip,
                               double up, double lip, double floor) {
    return branch(z_a, z_b, gap, sigma, dim, mean_lip, up, LipschitzSigma{lip, floor});
}
inline double range_branch(double z_a, double z_b, double gap, double sigma, double dim, double mean_lip,
                           double up, double low, double high) {
    return branch(z_a, z_b, gap, sigma, dim, mean_lip, up, SigmaRange{low, high});
}

// 1 if the pair (sigma, sigma1) at that distance is certified with the error bound added, else 0;
// sigma1 may be 0 or infinite, which nothing certifies
inline double pair_certified(double distance, double z_a, double z_b, double gap, double sigma, double sigma1,
                             double dim, double mean_lip) {
    const Budget p{z_a, z_b, gap, sigma, dim, mean_lip};
    if (!(p.valid() && distance >= 0 && sigma1 >= 0)) return flagged(nan);
    return certified(p, SigmaRange{sigma1, sigma1}, distance, sigma1 > sigma);
}

inline double renyi_radius(double p_a, double p_b, double sigma0, double sigma1, double dim) {
    return flagged(rsb::renyi_radius(p_a, p_b, sigma0, sigma1, dim));
}

}  // namespace rsb::api
