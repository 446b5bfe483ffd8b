// The central chi-square law, nc = 0, with a whole number of degrees of freedom up to
// `central_most`: no contour. Symbols as in ball.hpp; a = mu = N/2, y = x/2. Derived,
// with its error, in docs/theory/off-centre-ball.md, "The central law".
//
// With L = (a - 1) log y - y - log Gamma(a), the logarithm of the density of Y,
//   y >= a:  P(Y > y) = e^L H_a,  H_(b + 1) = 1 + b/y H_b  (by parts),
//            H_1 = 1,  H_(1/2) = z M(z), z = sqrt(x), M of normal.hpp,
//   y < a:   P(Y <= y) = e^L y/a S,  S = 1 + r_1 (1 + r_2 (1 + ...)),  r_k = y/(a + k).
// All terms are positive. L is formed in two doubles, with log Gamma from a table.
//
// Error of the small tail, relative: within 4e-15 (program `central`). The largest of
// 90,000 points: 4.2e-16 at one degree, 3.7e-16 from two on. Sources: NIST DLMF 8.7.1,
// 8.8.2.
#pragma once

#include "ball.hpp"

namespace rsb {

// Beyond it the sums have more roundings than the contour's.
constexpr double central_most = 60;

inline bool central_law(double df, double nc) {
    return nc == 0 && df >= 1 && df <= central_most && df == std::floor(df);
}

// log Gamma(k/2)
inline Sum2 log_gamma_half(int k) {
    static constexpr double table[][2] = {
        {0.5723649429247001, 5.132975581353913e-18}, {0.0, 0.0},
        {-0.12078223763524522, -4.1797047492946264e-18}, {0.0, 0.0},
        {0.2846828704729192, -2.0938630583071727e-17},
        {0.6931471805599453, 2.3190468138462996e-17},
        {1.2009736023470743, -6.235058427319136e-17},
        {1.791759469228055, 4.349979825096335e-17},
        {2.4537365708424423, -1.2332749279512093e-16},
        {3.1780538303479458, -1.3216387039714197e-16},
        {3.9578139676187165, -2.1692160317109888e-16},
        {4.787491742782046, 1.8268155143874837e-16},
        {5.662562059857142, -2.544481899893623e-16},
        {6.579251212010101, -2.179078601603509e-16},
        {7.534364236758733, 2.749147566750321e-16},
        {8.525161361065415, -3.667166030063331e-16},
        {9.549267257300997, 8.089236454099911e-16},
        {10.60460290274525, -6.302121059784911e-16},
        {11.689333420797269, -7.642990631994476e-17},
        {12.801827480081469, 5.206295788716661e-16},
        {13.940625219403763, 2.0916364919946416e-16},
        {15.104412573075516, -5.84624463166684e-16},
        {16.292000476567242, -1.0527492562976373e-15},
        {17.502307845873887, -7.099828843090002e-16},
        {18.734347511936445, 8.271977772939491e-16},
        {19.987214495661885, 1.4661311288682236e-15},
        {21.2600761562447, 6.565420355896571e-16},
        {22.552163853123425, -1.6450514375919355e-15},
        {23.862765841689086, -1.0820772816115552e-15},
        {25.19122118273868, 1.6710216640385304e-15},
        {26.536914491115613, 2.224911398558296e-16},
        {27.89927138384089, 1.2290202987493117e-15},
        {29.277754515040815, -6.037192092145407e-16},
        {30.671860106080672, 8.776929614531009e-16},
        {32.08111489594735, -1.842181793007976e-15},
        {33.50507345013689, -1.871849264001138e-15},
        {34.943315776876815, 2.4084896089565483e-15},
        {36.39544520803305, 9.675174259252172e-16},
        {37.861086508961094, 3.0368498369903723e-15},
        {39.339884187199495, -6.110776922796771e-16},
        {40.8315009745308, 5.889199472793443e-16},
        {42.335616460753485, -2.780672924182951e-17},
        {43.85192586067516, 1.4186501518764743e-15},
        {45.38013889847691, 3.988053703372669e-16},
        {46.91997879580878, -3.3397042412931645e-15},
        {48.47118135183523, -3.3670985639296026e-15},
        {50.03349410501915, 4.342607489672489e-16},
        {51.60667556776438, -3.3513402040623198e-15},
        {53.19049452616927, -1.987100680893148e-15},
        {54.78472939811232, 5.132988141911019e-16},
        {56.389167643719944, 3.1321841859396915e-15},
        {58.00360522298052, 2.0311680775630077e-15},
        {59.62784609588433, -2.506819041565917e-15},
        {61.261701761002, 6.085105161790465e-16},
        {62.90499082887651, -2.9940572001982412e-15},
        {64.55753862700634, -6.54701115354697e-15},
        {66.21917683354903, 1.2800645234699492e-15},
        {67.88974313718154, -5.095126725640807e-15},
        {69.56908092082364, -3.187991596786315e-15},
        {71.25703896716801, -5.6547469778977255e-15},
        {72.9534711841694, 6.415290528095157e-15},
        {74.65823634883016, 6.249917698290756e-15}};
    return {table[k - 1][0], table[k - 1][1]};
}

// Beyond so many terms of S, at most 59, what is left out is below 1e-17 of it, at all
// y < a. H has fewer.
inline int central_terms(double a) { return int(12 + std::sqrt(75 * a)); }
constexpr int most_central_terms = 59;

// 1 + c[0] (1 + c[1] (... (1 + c[count - 1] last))), of which the outermost sum and
// product have no rounding; c[0] has a low part
RSB_INLINE Sum2 nested_sum(const double* c, int count, double last, double c0_low) {
    double s = last;
    for (int k = count - 1; k > 0; --k) s = fused(c[k], s, 1);
    const Sum2 product = two_prod(c[0], s);
    const Sum2 sum = two_sum(1, product.hi);
    return {sum.hi, sum.lo + (product.lo + c0_low * s)};
}

// H_a, y >= a
inline Sum2 central_upper(double a, double x) {
    const double y = 0.5 * x;
    const int steps = int(a - 0.5);  // to H_1 or H_(1/2)
    double c[most_central_terms];
    for (int k = 0; k < steps; ++k) c[k] = (a - (k + 1)) / y;
    double last = 1;
    if (a - steps == 0.5) {
        const double z = std::sqrt(x);
        last = z * mills(z);
    }
    if (steps == 0) return {last, 0};
    return nested_sum(c, steps, last, std::fma(-c[0], y, a - 1) / y);
}

// S, y < a
inline Sum2 central_lower(double a, double y) {
    const int count = central_terms(a);
    double c[most_central_terms];
    for (int k = 0; k < count; ++k) c[k] = y / (a + (k + 1));
    return nested_sum(c, count, 1, std::fma(-c[0], a + 1, y) / (a + 1));
}

// A small tail, and what it is over the density of log x
struct SmallTail {
    bool upper;
    Sum2 p;
    double over_density;
};

// Both tails, as Tail in ball.hpp: the small one, e^exponent times a sum, is the upper
// one where y >= a. x and its logarithm in two doubles, but H and S take x.hi: x.lo
// matters in the exponential alone.
struct CentralTail {
    bool upper;
    double a, y;
    Sum2 log_y, exponent, sum;

    CentralTail(Sum2 x, Sum2 log_x, double df)
        : upper(x.hi >= df),
          a(0.5 * df),
          y(0.5 * x.hi),
          log_y(log_x - Sum2{ln2, ln2_low}) {
        const Sum2 minus_y = {-0.5 * x.hi, -0.5 * x.lo};
        const int k = int(df);
        // below, y/a is in the exponent, as y may be subnormal
        exponent = upper ? (log_y * (a - 1) + minus_y) - log_gamma_half(k)
                         : (log_y * a + minus_y) - log_gamma_half(k + 2);
        sum = upper ? central_upper(a, x.hi) : central_lower(a, 0.5 * x.hi);
    }

    Sum2 small_two() const {
        const Scaled2 e = exp_two(exponent);
        const Sum2 p = e.value * sum;
        return {scaled(p.hi, e.power), scaled(p.lo, e.power)};
    }
    SmallTail small_tail() const {
        return {upper, small_two(), sum.hi / (upper ? y : a)};
    }
    double small() const { return value(small_two()); }
    double log_small() const {
        // the two parts of a small logarithm would be larger than it
        const bool moderate = exponent.hi > -600;
        const Sum2 p = moderate ? small_two() : sum;
        const double log = std::log(p.hi);
        const double low = p.lo / p.hi;
        return moderate ? log + low
                        : two_sum(exponent.hi, exponent.lo + (log + low)).hi;
    }
    double below() const { return upper ? 1 - small() : small(); }
    double above() const { return upper ? small() : 1 - small(); }
    double log_lower() const { return upper ? std::log1p(-small()) : log_small(); }
    double log_upper() const { return upper ? log_small() : std::log1p(-small()); }

    // of X: half that of Y
    Sum2 log_density_two() const { return upper ? exponent : exponent - log_y; }
    double half() const { return upper ? 0.5 : 0.5 * a; }
    double density_of_x() const {
        const Scaled2 e = exp_two(log_density_two());
        return scaled(value(e.value * half()), e.power);
    }
    double log_density() const { return value(log_density_two() + log_two(half())); }
};

}  // namespace rsb
