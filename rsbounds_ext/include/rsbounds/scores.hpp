// Outward rounding, half the gap between the normal scores of two probabilities
// (Cohen's radius), and the difference of the probabilities of two scores.
//
// half_gap is a lower bound within 5e-12. Where z_a - z_b is small beside the scores,
// subtracting them would lose its digits. There it follows from p_a - p_b = (z_a - z_b)
// (mean of phi over [z_b, z_a]), as p_a - p_b has all of its own.
#pragma once

#include "normal.hpp"

namespace rsb {

// Whether the processor takes numbers below 2^-1022 for 0
inline bool denormals_are_flushed() {
    const volatile double least = std::numeric_limits<double>::denorm_min();
    return least == 0;
}

// A number at most (`towards` = -inf) or at least (inf) the truth, given `value` within
// a relative `error` of it. Never on the other side of 0; 0 and infinities stay. Where
// numbers below 2^-1022 are taken for 0 the slack of the smallest is lost: towards 0
// they become 0, away from it they are moved as larger ones, without a change of digits.
inline double rounded(double value, double error, double towards) {
    if (value == 0 || std::fabs(value) == inf) return value;
    if (std::fabs(value) < 0x1p-960 && denormals_are_flushed()) {
        if (value * towards < 0) return 0;
        return rounded(value * 0x1p200, error, towards) * 0x1p-200;
    }
    const double slack =
        error * std::fabs(value) + 4 * std::numeric_limits<double>::denorm_min();
    const double moved = std::nextafter(value + std::copysign(slack, towards), towards);
    return (moved < 0 && value > 0) || (moved > 0 && value < 0) ? 0 : moved;
}

constexpr double half_gap_error = 3e-14;
constexpr double mean_error = 3e-15;

// The mean of phi over phi(middle) between scores that are 2 half apart, by eight
// Gauss-Legendre nodes
inline double mean_density(double middle, double half) {
    static constexpr double node[] = {
        0.1834346424956498, 0.525532409916329, 0.7966664774136267, 0.9602898564975363};
    static constexpr double weight[] = {
        0.362683783378362, 0.3137066458778873, 0.2223810344533745, 0.1012285362903763};
    double mean = 0;
    for (int i = 0; i < 4; ++i)
        for (const double step : {half * node[i], -half * node[i]})
            mean += weight[i] / 2 * std::exp(-step * (middle + step / 2));
    return mean;
}

// half_gap of close scores, which count in the mean alone
inline double close_half(double p_a, double p_b, double z_a, double z_b) {
    const double middle = z_a / 2 + z_b / 2;
    const double mean = mean_density(middle, z_a / 2 - z_b / 2);
    return std::exp(middle * middle / 2 + std::log(p_a - p_b)) *
           (0.5 * sqrt_2pi / mean);
}

inline double half_gap(double p_a, double p_b) {
    const double z_a = ndtri(p_a);
    const double z_b = ndtri(p_b);
    const double size = std::fmax(std::fabs(z_a), std::fabs(z_b));
    if (!(z_a == z_a && z_b == z_b)) return nan;
    if (p_a <= p_b) return 0;
    double half = z_a / 2 - z_b / 2;
    if (half < 0.5 / std::fmax(size, 1.0)) half = close_half(p_a, p_b, z_a, z_b);
    // the logarithm of p_a - p_b may be as large as size^2/2 + 40, and its last bit
    // counts
    return rounded(half, half_gap_error + mean_error * size * size, -inf);
}

// log(Phi(z_a) - Phi(z_b)), -inf where z_a <= z_b; within 3e-14 + 1e-14 of its size
// (docs/theory/proofs.md, "A difference of two probabilities").
inline double log_ndtr_gap(double z_a, double z_b) {
    if (!(z_a == z_a && z_b == z_b)) return nan;
    if (z_a <= z_b) return -inf;
    // by symmetry towards the lower tail, where both are small
    const bool turned = z_a > -z_b;
    const double high = turned ? -z_b : z_a;
    const double low = turned ? -z_a : z_b;
    if (low == -inf) return log_ndtr(high);
    const Sum2 twice = two_sum(0.5 * high, 0.5 * low);
    const double gap = high - low;
    const double middle = twice.hi;
    if (gap * std::fmax(1.0, -middle) <= 1) {
        const double share = std::log(mean_density(middle, 0.5 * gap) / sqrt_2pi);
        const double square = 0.5 * middle * middle;
        // of a square beyond the largest double nothing is left
        return square < inf ? std::log(gap) + share - square - middle * twice.lo : -inf;
    }
    // beyond 40 nothing is left of a tail, and squares would overflow far beyond
    if (high > 0)
        return std::log1p(-(upper_tail(std::fmin(high, 40.0)) +
                            upper_tail(std::fmin(-low, 40.0))));
    const double log_high = log_ndtr(high);
    if (log_high == -inf) return -inf;
    return log_high + std::log1p(-std::exp(log_ndtr(low) - log_high));
}

}  // namespace rsb
