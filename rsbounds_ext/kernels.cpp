// The one table of kernels: ufuncs, numba symbols and Cython functions are made from it. Cython needs the
// arguments declared once more, in kernels.pxd; a test compares the two.
// Compiled for the baseline and once more for newer processors: module.cpp chooses.
#include "module.hpp"
#include "rsbounds/api.hpp"

#define KERNEL(name) rsb::module::entry(#name, rsb::api::name)

static rsb::module::Entry table[] = {
    KERNEL(log_ndtr),
    KERNEL(ndtri),
    KERNEL(ndtri_exp),
    KERNEL(round_down),
    KERNEL(round_up),
    KERNEL(half_gap),
    KERNEL(ball_score),
    KERNEL(ball_offset),
    KERNEL(ncx2_cdf),
    KERNEL(ncx2_sf),
    KERNEL(ncx2_logcdf),
    KERNEL(ncx2_logsf),
    KERNEL(ncx2_pdf),
    KERNEL(ncx2_logpdf),
    KERNEL(ncx2_ppf),
    KERNEL(ncx2_isf),
    KERNEL(ncx2_ppf_exp),
    KERNEL(ncx2_isf_exp),
    KERNEL(marcum_q),
    KERNEL(marcum_p),
    KERNEL(marcum_logq),
    KERNEL(marcum_logp),
    KERNEL(marcum_q_inv),
    KERNEL(marcum_p_inv),
    KERNEL(lipschitz_ratio),
    KERNEL(lipschitz_slope),
    KERNEL(worst_score),
    KERNEL(semielastic_radius),
    KERNEL(lipschitz_radius),
    KERNEL(range_radius),
    KERNEL(semielastic_branch),
    KERNEL(lipschitz_branch),
    KERNEL(range_branch),
    KERNEL(pair_certified),
    KERNEL(renyi_radius),
    KERNEL(binomial_bound),
    KERNEL(anytime_bound),
    KERNEL(log_wealth),
};

static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "kernels",
                                 "Compiled scalar kernels: NumPy ufuncs of these names, their "
                                 "addresses in `symbols`, C functions for Cython.",
                                 -1, nullptr, nullptr, nullptr, nullptr, nullptr};

namespace rsb {
PyObject* kernels() { return module::build(definition, table); }
}  // namespace rsb
