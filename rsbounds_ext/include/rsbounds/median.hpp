// The certificate of a pair of points without a quantile, for the budget z_b = -z_a.
// The ball whose P1 is exactly one half is known in closed form, and its P0 is one
// integral instead of two. Symbols as in gain.hpp; derived, error bounds included, in
// docs/theory/two-point.md ("the median form", "A sign without an integral").
//
// The median of D = X - N - s^2 is 2 sum p_j(t)/v^j, v = mu + 2 h, t = h/v: a series of
// Cornish and Fisher's kind for the cumulants (n - 1)! v (1 + (n - 2) t). p_j has
// degree 2 j + 1; tests/helpers/median_series.py computes the coefficients, a test compares
// them. From v = 200 on seven terms leave less than 4e-17 of the standard deviation
// sqrt v, from v = 5000 on four do; below 200 gain.hpp decides.
//
// lugannani_rice gives a score without an integral, to .6 c2^-3/2 + 1e-12 (1 + |r|); it
// decides signs that are clear, nothing else. That bound and the series' are proved in
// docs/theory/saddle.md.
#pragma once

#include "gain.hpp"

namespace rsb {

constexpr double series_from = 200;  // v
// Bounds of errors (docs/theory/proofs.md)
constexpr double saddle_room = 0.6;     // what the formula of Lugannani and Rice leaves
constexpr double saddle_error = 1e-12;  // its rounding
constexpr double rough_error = 4e-15;   // of carrying an end over for it
constexpr double median_error = 1.5e-15;  // of the median
constexpr double series_room = 4e-17;     // and of what its series leaves

// The first `terms` (2, 4 or 7) of the median, w = 1/v
template <int terms>
RSB_INLINE double median_series(double t, double w) {
    static constexpr double c1[] = {
        0.019753086419753086, 0.05925925925925926, -0.7407407407407407,
        0.41975308641975306};
    static constexpr double c2[] = {
        0.007211444248481286, 0.03605722124240643, 1.0414266117969821,
        -6.2770919067215365, 7.972565157750343, -2.909190672153635};
    static constexpr double c3[] = {
        0.0006526298981717363, 0.004568409287202154, -0.885248328869728,
        22.111777966483043, -106.70637606055988, 188.78670934308795,
        -141.00744805161816, 37.86995304142081};
    static constexpr double c4[] = {
        -0.0012385769635511374, -0.011147192671960238, 0.8452243358824673,
        -54.71474999805112, 638.2007947233492, -2803.8319198018758, 5867.223548954635,
        -6322.070712346243, 3395.172759346757, -720.6408234359394};
    static constexpr double c5[] = {
        -0.0004509888376840951, -0.004960877214525046, -0.940469927342916,
        120.92335317658366, -2802.809448106396, 23942.29620969808, -99984.18387160324,
        231247.83668502758, -311646.62656612304, 243736.91666051815,
        -102607.58067336398, 17993.236730186134};
    static constexpr double c6[] = {
        0.0006639604003340528, 0.008631485204342686, 0.9723788053445009,
        -255.85382041856198, 10604.683428719614, -155848.72879764822, 1114308.278281157,
        -4506109.749811619, 11139121.23879194, -17455583.679203898, 17418365.156811174,
        -10728931.999967609, 3719848.809141827, -555518.7504968883};
    double rest = 0;
    if (terms > 4) rest = w * (horner(c4, t) + w * (horner(c5, t) + w * horner(c6, t)));
    if (terms > 2) rest = w * (horner(c2, t) + w * (horner(c3, t) + rest));
    return 2 * (w * (horner(c1, t) + rest) - (1 + t) / 3);
}

struct Median {
    double value, slope;
};

// The median and its derivative, good to 1e-6 of a standard deviation, where h moves by
// dh
inline Median median_excess(double mu, double h, double dh) {
    const double w = 1 / (mu + 2 * h);  // 1/v
    const double t = h * w;
    const double dt = dh * mu * (w * w);
    const double slope =
        t * (3.7777777777777777 * t - 4.444444444444444) + 0.17777777777777778;
    const double value = w > 2e-4 ? median_series<7>(t, w) : median_series<4>(t, w);
    return {value, (2 / 3.) * dt * (slope * w - 1)};
}

// The ball whose P1 is one half, seen under sigma0; not `valid` where `gain` has to
// decide.
struct MedianBall {
    double dim;
    Sum2 nc, d;       // s0^2, D rounded outward
    double x;         // rho^2 = N + s0^2 + D
    double rounding;  // by at most twice this, in log rho
    double dd, ds;    // the changes of D and log s0 as log alpha grows
    bool valid = false;
};

inline MedianBall median_ball(double alpha, const Ratio& r, bool up, double dim) {
    MedianBall ball{dim};
    if (!(r.change > 0 && r.k > 0 && r.change2 < 1e8)) return ball;
    const double s0 = alpha / r.change2;
    const double k2 = r.k * r.k;
    const double sign = up ? 1 : -1;
    const Sum2 nc0 = two_prod(s0, s0);
    const double mu = 0.5 * dim;
    const double nc1 = k2 * nc0.hi;
    const double v1 = mu + nc1;
    if (!(s0 < half_space && v1 >= series_from)) return ball;
    ball.nc = nc0;
    ball.ds = 1 - 2 * k2 * r.rate / r.change2;
    const Median m = median_excess(mu, 0.5 * nc1, nc1 * (sign * r.rate + ball.ds));
    const double wide = alpha * s0 * (1 + k2);
    const double moved = dim * r.change2 + wide;
    const double off =
        end_error * moved + k2 * (median_error + series_room * std::sqrt(v1));
    ball.d = two_sum(k2 * m.value, sign * moved) + sign * off;
    ball.x = (nc0.hi + dim) + ball.d.hi;
    ball.rounding = off / (2 * ball.x);
    ball.dd = 2 * r.rate * k2 * (sign * (dim + m.value) + alpha * s0) +
              sign * wide * (1 + ball.ds) + k2 * m.slope;
    ball.valid = ball.d.hi > -0.2 * (dim + nc0.hi);
    return ball;
}

// How far P0's score is beyond the budget, negative where certified: b - G, or G + b.
inline Gain median_gain(const MedianBall& ball, double b, bool up, bool slope) {
    const Tail end = tail_of(ball.dim, ball.nc, ball.x, {0, 0}, ball.d, slope);
    const double score = end.score();
    const double over = over_normal(end, score);
    const double c = ball.dim + 2 * end.beta;
    const double moved = c * end.density * over * ball.rounding;
    const double value = (up ? score + b : b - score) - moved;
    const double sizes = std::fabs(score) + std::fabs(b);
    Gain out{value,
             score_bound(0.5 * c + end.beta, score) + moved + sum_error * (1 + sizes)};
    if (slope) {
        const double inverse = c / ball.x;  // of 1 + tau
        const double rise =
            end.density * inverse * (0.5 * ball.dd) -
            ball.nc.hi * ball.ds * (end.density * (1 - inverse) + end.drift);
        out.slope = over * (up ? rise : -rise);
    }
    return out;
}

// The score of the ball with that D by Lugannani and Rice's formula; NaN where its
// error is not proved.
inline Gain lugannani_rice(double dim, double nc, double d) {
    const double mu = 0.5 * dim;
    const double x = (nc + dim) + d;
    if (!(mu + nc >= series_from && d > -0.2 * (dim + nc))) return {nan, nan};
    const double c2 = std::sqrt(mu * mu + nc * x);
    const double root = std::sqrt(c2);
    const double tau = d / ((x - mu) + c2) * (x / (mu + c2));
    if (!(tau <= 1)) return {nan, nan};
    const double half = mu * log1p_defect(tau) + 0.5 * nc * tau * tau;
    const double r = std::copysign(std::sqrt(2 * half), tau);
    const double size = std::fabs(r);
    if (!(size > 0.01)) return {nan, nan};
    return {r + std::log(tau * root / r) / r,
            saddle_room / (c2 * root) + saddle_error * (1 + size)};
}

// median_gain by that formula.
inline Gain rough_gain(const MedianBall& ball, double b, bool up) {
    const Gain score = lugannani_rice(ball.dim, ball.nc.hi, ball.d.hi);
    return {up ? score.value + b : b - score.value,
            score.error + sum_error * std::fabs(b)};
}

// D at a score, from the first five cumulants.
struct CornishFisher {
    double sd, third, d;  // the skewness is 6 third/sd
};
inline CornishFisher cornish_fisher(double z, double dim, double nc) {
    const double v = 2 * dim + 4 * nc;
    const double sd = std::sqrt(v);
    const double z2 = z * z;
    const double third = 8 * (dim + 3 * nc) / (6 * v);
    const double fourth = 2 * (dim + 4 * nc) / v;
    const double square = third * third;
    const double fifth = 3.2 * (dim + 5 * nc) / v * (z2 * (z2 - 6) + 3) -
                         third * (6 * fourth * (z2 * (z2 - 5) + 2) -
                                  square * (2 / 3.) * (z2 * (12 * z2 - 53) + 17));
    return {sd, third,
            z * (sd + (fourth * (z2 - 3) - square * (2 * z2 - 5)) / sd) +
                (third * (z2 - 1) + fifth / v)};
}

// An upper bound of X at the budget b: the formula's X of a ball whose P0 is certainly
// at least the budget; NaN where that is not certain.
inline double rough_score(double b, double alpha, const Ratio& r, bool up, double dim) {
    if (!(r.change > 0 && r.k > 0.1 && r.change2 < 1e8)) return nan;
    const double s0 = alpha / r.change2;
    const double nc0 = s0 * s0;
    const double k2 = r.k * r.k;
    const double sign = up ? -1 : 1;
    if (!(s0 < half_space)) return nan;
    const CornishFisher q = cornish_fisher(sign * b, dim, nc0);
    const double more = 16 * (1 + std::fabs(b)) / (q.sd * q.sd) + 4e-12 * q.sd;
    const double d0 = q.d + sign * more;
    const double moved = dim * r.change2 + alpha * s0 * (1 + k2);
    const Gain start = lugannani_rice(dim, nc0, d0);
    if (!std::isgreaterequal(sign * start.value - start.error, b)) return nan;
    const Gain end = lugannani_rice(dim, k2 * nc0, (d0 + sign * moved) / k2);
    const double rounding = rough_error * (std::fabs(d0) + moved) /
                            (k2 * std::sqrt(2 * dim + 4 * k2 * nc0));
    return sign * end.value + (end.error + rounding);
}

}  // namespace rsb
