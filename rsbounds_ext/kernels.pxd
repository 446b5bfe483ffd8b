# Scalar functions for Cython users: `from rsbounds_ext.kernels cimport ball_score`.
# CMakeLists.txt makes this file from the table of kernels.cpp. Definitions, domains and
# error bounds: see rsbounds.special and rsbounds.envelope. `gap` is z_a - z_b, and
# z_b = -z_a stands for p_b = 1 - p_a.
cdef double log_ndtr(double z) noexcept nogil
cdef double log_ndtr_slope(double z) noexcept nogil
cdef double ndtr(double z) noexcept nogil
cdef double ndtri(double p) noexcept nogil
cdef double ndtri_exp(double log_p) noexcept nogil
cdef double round_down(double value, double error) noexcept nogil
cdef double round_up(double value, double error) noexcept nogil
cdef double half_gap(double p_a, double p_b) noexcept nogil
cdef double log_ndtr_gap(double z_a, double z_b) noexcept nogil
cdef double ball_score(double u, double dim, double s) noexcept nogil
cdef double ball_offset(double z, double dim, double s) noexcept nogil
cdef double ncx2_cdf(double x, double df, double nc) noexcept nogil
cdef double ncx2_sf(double x, double df, double nc) noexcept nogil
cdef double ncx2_logcdf(double x, double df, double nc) noexcept nogil
cdef double ncx2_logsf(double x, double df, double nc) noexcept nogil
cdef double ncx2_pdf(double x, double df, double nc) noexcept nogil
cdef double ncx2_logpdf(double x, double df, double nc) noexcept nogil
cdef double ncx2_ppf(double p, double df, double nc) noexcept nogil
cdef double ncx2_isf(double p, double df, double nc) noexcept nogil
cdef double ncx2_ppf_exp(double log_p, double df, double nc) noexcept nogil
cdef double ncx2_isf_exp(double log_p, double df, double nc) noexcept nogil
cdef double marcum_q(double m, double a, double b) noexcept nogil
cdef double marcum_p(double m, double a, double b) noexcept nogil
cdef double marcum_logq(double m, double a, double b) noexcept nogil
cdef double marcum_logp(double m, double a, double b) noexcept nogil
cdef double marcum_q_inv(double q, double m, double a) noexcept nogil
cdef double marcum_p_inv(double p, double m, double a) noexcept nogil
cdef double ncx2_nc(double p, double x, double df) noexcept nogil
cdef double ncx2_nc_sf(double p, double x, double df) noexcept nogil
cdef double ncx2_nc_exp(double log_p, double x, double df) noexcept nogil
cdef double ncx2_nc_sf_exp(double log_p, double x, double df) noexcept nogil
cdef double ncx2_df(double p, double x, double nc) noexcept nogil
cdef double ncx2_df_sf(double p, double x, double nc) noexcept nogil
cdef double ncx2_df_exp(double log_p, double x, double nc) noexcept nogil
cdef double ncx2_df_sf_exp(double log_p, double x, double nc) noexcept nogil
cdef double marcum_q_inv_a(double q, double m, double b) noexcept nogil
cdef double marcum_p_inv_a(double p, double m, double b) noexcept nogil
cdef double ncx2_density_ratio(double x, double df, double nc) noexcept nogil
cdef double ncx2_density_over_cdf(double x, double df, double nc) noexcept nogil
cdef double ncx2_density_over_sf(double x, double df, double nc) noexcept nogil
cdef double lipschitz_ratio(double z, double dim) noexcept nogil
cdef double lipschitz_slope(double z, double dim) noexcept nogil
cdef double worst_score(double distance, double score, double sigma0, double sigma1, double dim) noexcept nogil
cdef double semielastic_radius(double z_a, double z_b, double gap, double sigma, double dim, double mean_lip, double rate) noexcept nogil
cdef double lipschitz_radius(double z_a, double z_b, double gap, double sigma, double dim, double mean_lip, double lip, double floor) noexcept nogil
cdef double range_radius(double z_a, double z_b, double gap, double sigma, double dim, double mean_lip, double low, double high) noexcept nogil
cdef double semielastic_branch(double z_a, double z_b, double gap, double sigma, double dim, double mean_lip, double up, double rate) noexcept nogil
cdef double lipschitz_branch(double z_a, double z_b, double gap, double sigma, double dim, double mean_lip, double up, double lip, double floor) noexcept nogil
cdef double range_branch(double z_a, double z_b, double gap, double sigma, double dim, double mean_lip, double up, double low, double high) noexcept nogil
cdef double pair_certified(double distance, double z_a, double z_b, double gap, double sigma, double sigma1, double dim, double mean_lip) noexcept nogil
cdef double event_kept(double distance, double z, double least, double sigma, double sigma1, double dim) noexcept nogil
cdef double renyi_radius(double p_a, double p_b, double sigma0, double sigma1, double dim) noexcept nogil
cdef double affine_radius(double z_a, double z_b, double spread, double contrast) noexcept nogil
cdef double binomial_bound(double count, double n, double alpha) noexcept nogil
cdef double share_lower(double count, double n, double alpha) noexcept nogil
cdef double share_upper(double count, double n, double alpha) noexcept nogil
cdef double share_lower_score(double count, double n, double alpha) noexcept nogil
cdef double share_upper_score(double count, double n, double alpha) noexcept nogil
cdef double anytime_bound(double hits, double trials, double alpha) noexcept nogil
cdef double log_wealth(double hits, double trials, double x) noexcept nogil
