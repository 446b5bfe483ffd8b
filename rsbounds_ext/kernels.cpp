// The one table of kernels, with the names of their arguments: ufuncs, numba symbols and
// Cython functions are made from it, and so is kernels.pxd, when CMake is configured.
// Compiled for the baseline and once more for newer processors: module.cpp chooses.
#include "module.hpp"
#include "rsbounds/api.hpp"
#include "scans.hpp"

#define ENTRY(checked, name, ...)                                          \
    rsb::module::entry<rsb::module::words(#__VA_ARGS__)>(#name, #__VA_ARGS__, checked, \
                                                         rsb::api::name)
// of which an argument outside its domain is an error that names it, or gives NaN
#define FUNCTION(name, ...) ENTRY(true, name, __VA_ARGS__)
#define KERNEL(name, ...) ENTRY(false, name, __VA_ARGS__)

// What every argument of that name may be, of functions that check it
static constexpr rsb::module::Domain domains[] = {
    {"z", -rsb::inf, rsb::inf},   {"z_a", -rsb::inf, rsb::inf},
    {"z_b", -rsb::inf, rsb::inf}, {"u", -rsb::inf, rsb::inf},
    {"p", 0, 1},                  {"q", 0, 1},
    {"log_p", -rsb::inf, 0},      {"x", 0, rsb::inf},
    {"dim", 1, 1e8},              {"df", 1e-300, 1e30, true},
    {"s", 0, rsb::inf},           {"nc", 0, 1e60},
    {"m", 5e-301, 5e29, true},     {"a", 0, 1e30},  // df = 2 m, nc = a^2
    {"b", 0, rsb::inf},
};

static rsb::module::Entry table[] = {
    FUNCTION(log_ndtr, z).in_blocks<rsb::normal_block, rsb::log_ndtr_block>(),
    FUNCTION(log_ndtr_slope, z),
    FUNCTION(ndtr, z).in_blocks<rsb::normal_block, rsb::ndtr_block>(),
    FUNCTION(ndtri, p).in_blocks<rsb::score_block, rsb::ndtri_block>(),
    FUNCTION(ndtri_exp, log_p).in_blocks<rsb::score_block, rsb::ndtri_exp_block>(),
    KERNEL(round_down, value, error),
    KERNEL(round_up, value, error),
    KERNEL(half_gap, p_a, p_b),
    FUNCTION(log_ndtr_gap, z_a, z_b),
    FUNCTION(ball_score, u, dim, s),
    FUNCTION(ball_offset, z, dim, s),
    FUNCTION(ncx2_cdf, x, df, nc)
        .in_blocks<rsb::law_block, rsb::api::ncx2_cdf_block>(),
    FUNCTION(ncx2_sf, x, df, nc)
        .in_blocks<rsb::law_block, rsb::api::ncx2_sf_block>(),
    FUNCTION(ncx2_logcdf, x, df, nc)
        .in_blocks<rsb::law_block, rsb::api::ncx2_logcdf_block>(),
    FUNCTION(ncx2_logsf, x, df, nc)
        .in_blocks<rsb::law_block, rsb::api::ncx2_logsf_block>(),
    FUNCTION(ncx2_pdf, x, df, nc),
    FUNCTION(ncx2_logpdf, x, df, nc),
    FUNCTION(ncx2_ppf, p, df, nc),
    FUNCTION(ncx2_isf, p, df, nc),
    FUNCTION(ncx2_ppf_exp, log_p, df, nc),
    FUNCTION(ncx2_isf_exp, log_p, df, nc),
    FUNCTION(marcum_q, m, a, b),
    FUNCTION(marcum_p, m, a, b),
    FUNCTION(marcum_logq, m, a, b),
    FUNCTION(marcum_logp, m, a, b),
    FUNCTION(marcum_q_inv, q, m, a),
    FUNCTION(marcum_p_inv, p, m, a),
    FUNCTION(ncx2_nc, p, x, df),
    FUNCTION(ncx2_nc_sf, p, x, df),
    FUNCTION(ncx2_nc_exp, log_p, x, df),
    FUNCTION(ncx2_nc_sf_exp, log_p, x, df),
    FUNCTION(ncx2_df, p, x, nc),
    FUNCTION(ncx2_df_sf, p, x, nc),
    FUNCTION(ncx2_df_exp, log_p, x, nc),
    FUNCTION(ncx2_df_sf_exp, log_p, x, nc),
    FUNCTION(marcum_q_inv_a, q, m, b),
    FUNCTION(marcum_p_inv_a, p, m, b),
    FUNCTION(ncx2_density_ratio, x, df, nc),
    FUNCTION(ncx2_density_over_cdf, x, df, nc),
    FUNCTION(ncx2_density_over_sf, x, df, nc),
    KERNEL(lipschitz_ratio, z, dim),
    KERNEL(lipschitz_slope, z, dim),
    KERNEL(worst_score, distance, score, sigma0, sigma1, dim),
    KERNEL(semielastic_radius, z_a, z_b, gap, sigma, dim, mean_lip, rate),
    KERNEL(lipschitz_radius, z_a, z_b, gap, sigma, dim, mean_lip, lip, floor),
    KERNEL(range_radius, z_a, z_b, gap, sigma, dim, mean_lip, low, high),
    KERNEL(semielastic_branch, z_a, z_b, gap, sigma, dim, mean_lip, up, rate),
    KERNEL(lipschitz_branch, z_a, z_b, gap, sigma, dim, mean_lip, up, lip, floor),
    KERNEL(range_branch, z_a, z_b, gap, sigma, dim, mean_lip, up, low, high),
    KERNEL(pair_certified, distance, z_a, z_b, gap, sigma, sigma1, dim, mean_lip),
    KERNEL(event_kept, distance, z, least, sigma, sigma1, dim),
    KERNEL(renyi_radius, p_a, p_b, sigma0, sigma1, dim),
    KERNEL(affine_radius, z_a, z_b, spread, contrast),
    KERNEL(binomial_bound, count, n, alpha),
    KERNEL(share_lower, count, n, alpha),
    KERNEL(share_upper, count, n, alpha),
    KERNEL(share_lower_score, count, n, alpha),
    KERNEL(share_upper_score, count, n, alpha),
    KERNEL(anytime_bound, hits, trials, alpha),
    KERNEL(log_wealth, hits, trials, x),
};

static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "kernels",
                                 "Compiled scalar kernels: NumPy ufuncs of these names, their "
                                 "addresses in `symbols`, C functions for Cython.",
                                 -1, nullptr, nullptr, nullptr, nullptr, nullptr};

namespace rsb {
PyObject* kernels() { return module::build(definition, table, domains, scans::methods); }
}  // namespace rsb
