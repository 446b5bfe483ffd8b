// The one table of kernels, with the names of their arguments: ufuncs, numba symbols and
// Cython functions are made from it, and so is kernels.pxd, when CMake is configured.
// Compiled for the baseline and once more for newer processors: module.cpp chooses.
#include "module.hpp"
#include "rsbounds/api.hpp"

#define KERNEL(name, ...) \
    rsb::module::entry<rsb::module::words(#__VA_ARGS__)>(#name, rsb::api::name)

static rsb::module::Entry table[] = {
    KERNEL(log_ndtr, z).in_blocks<rsb::normal_block, rsb::log_ndtr_block>(),
    KERNEL(ndtri, p),
    KERNEL(ndtri_exp, log_p).in_blocks<rsb::score_block, rsb::ndtri_exp_block>(),
    KERNEL(round_down, value, error),
    KERNEL(round_up, value, error),
    KERNEL(half_gap, p_a, p_b),
    KERNEL(log_ndtr_gap, z_a, z_b),
    KERNEL(ball_score, u, dim, s),
    KERNEL(ball_offset, z, dim, s),
    KERNEL(ncx2_cdf, x, df, nc)
        .in_blocks<rsb::law_block, rsb::api::ncx2_cdf_block>(),
    KERNEL(ncx2_sf, x, df, nc)
        .in_blocks<rsb::law_block, rsb::api::ncx2_sf_block>(),
    KERNEL(ncx2_logcdf, x, df, nc)
        .in_blocks<rsb::law_block, rsb::api::ncx2_logcdf_block>(),
    KERNEL(ncx2_logsf, x, df, nc)
        .in_blocks<rsb::law_block, rsb::api::ncx2_logsf_block>(),
    KERNEL(ncx2_pdf, x, df, nc),
    KERNEL(ncx2_logpdf, x, df, nc),
    KERNEL(ncx2_ppf, p, df, nc),
    KERNEL(ncx2_isf, p, df, nc),
    KERNEL(ncx2_ppf_exp, log_p, df, nc),
    KERNEL(ncx2_isf_exp, log_p, df, nc),
    KERNEL(marcum_q, m, a, b),
    KERNEL(marcum_p, m, a, b),
    KERNEL(marcum_logq, m, a, b),
    KERNEL(marcum_logp, m, a, b),
    KERNEL(marcum_q_inv, q, m, a),
    KERNEL(marcum_p_inv, p, m, a),
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
    KERNEL(renyi_radius, p_a, p_b, sigma0, sigma1, dim),
    KERNEL(affine_radius, z_a, z_b, spread, contrast),
    KERNEL(binomial_bound, count, n, alpha, u),
    KERNEL(anytime_bound, hits, trials, alpha),
    KERNEL(log_wealth, hits, trials, x),
};

static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "kernels",
                                 "Compiled scalar kernels: NumPy ufuncs of these names, their "
                                 "addresses in `symbols`, C functions for Cython.",
                                 -1, nullptr, nullptr, nullptr, nullptr, nullptr};

namespace rsb {
PyObject* kernels() { return module::build(definition, table); }
}  // namespace rsb
