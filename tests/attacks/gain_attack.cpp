// A climbing search for the largest error/bound of the gains, against the same contour in extended
// precision: exponent and geometry in quadruple, nodes in long double.
//   gain_attack reference b alpha k up dim     the reference's gain to 18 digits
//   gain_attack search seed evaluations        the largest ratio, and where
//   gain_attack panels seed evaluations        the same of gains that are integrated
//   gain_attack median seed evaluations        the same for median_gain
//   gain_attack rough seed evaluations         the same for rough_gain
//   gain_attack upper seed evaluations         above 1 where rough_score is below X
//   gain_attack ball seed evaluations          above 1 where a budget's ball is not on its side of it
#include <quadmath.h>

#include <cstdio>
#include <cstdlib>
#include <random>
#include <rsbounds/api.hpp>

using Quad = __float128;
using Long = long double;

static Long ln(Long x) { return logl(x); }
static Quad ln(Quad x) { return logq(x); }
static Long ln1p(Long x) { return log1pl(x); }
static Quad ln1p(Quad x) { return log1pq(x); }
static Long ex(Long x) { return expl(x); }
static Quad ex(Quad x) { return expq(x); }
static Long root_of(Long x) { return sqrtl(x); }
static Quad root_of(Quad x) { return sqrtq(x); }
static Long atan_of(Long x) { return atanl(x); }
static Quad atan_of(Quad x) { return atanq(x); }
static void sin_cos(Long x, Long& s, Long& c) { sincosl(x, &s, &c); }
static void sin_cos(Quad x, Quad& s, Quad& c) { sincosq(x, &s, &c); }

// log M(z), M = Q/phi: quadruple near 0, beyond by its continued fraction
template <class R>
R log_mills(R z) {
    if (z < 5) return R(logq(erfcq(Quad(z) / sqrtq(2)) / 2) + Quad(z) * z / 2 + logq(2 * M_PIq) / 2);
    R t = z;
    for (int n = z < 12 ? 900 : 150; n > 0; --n) t = z + n / t;
    return -ln(t);
}

template <class R>
Quad log_ndtr(Quad z) {
    if (z > 0) return log1pq(-erfcq(z / sqrtq(2)) / 2);
    return -z * z / 2 - logq(2 * M_PIq) / 2 + log_mills(R(-z));
}

struct Point {
    Quad log_tail, slope;  // of the side of sign(tau), and its derivative in log rho, made positive
    bool upper;
};

// P(|Z - s e1| <= rho) by the integral of contour.hpp, nodes in type R
template <class R>
Point tail(Quad dim, Quad s, Quad log_rho) {
    constexpr bool quad = std::is_same_v<R, Quad>;
    const Quad rho = expq(log_rho), mu = dim / 2, h = s * s / 2, x = rho * rho;
    const Quad c2q = sqrtq(mu * mu + s * s * x), log_ratio = 2 * log_rho - logq(mu + c2q);
    const Quad ratio = expq(log_ratio), excess = x - dim - s * s;
    const Quad tau = ratio < Quad(0.01) ? ratio - 1 : excess / ((x - mu) + c2q) * ratio;
    const Quad log1p_tau = fabsq(tau) < Quad(0.1) ? log1pq(tau) : log_ratio;
    const Quad phi0 = -(mu * (tau - log1p_tau) + h * tau * tau), root = sqrtq(ratio);
    const R m = mu, beta = h * ratio, c2 = c2q, t = tau, pi = M_PIq;
    const R r = root_of(c2) + R(0.3), c = R(5) / (5 + r), B = 1 / (1 - c) - (1 - c);
    const R step = 2 * pi * c / ((quad ? 80 : 48) + c2 * B * B / 2);
    R tails = 0, density = 0;
    for (int k = 0; k < 100000; ++k) {
        const R q = (k + R(0.5)) * step, v = q * q, i2 = 1 / ((1 + v) * (1 + v));
        const R e = m * (ln1p(v) + v) + beta * v * (1 + (3 + v) * i2);
        if (e > (quad ? 82 : 50)) break;
        R defect = q - atan_of(q), sn, cs;
        if (q < R(0.05)) {
            defect = 0;
            for (int n = quad ? 26 : 13; n > 0; --n)
                defect = v * ((n & 1 ? 1 : -1) / R(2 * n + 1) + defect);
            defect *= q;
        }
        const R w = ex(-e);
        sin_cos(2 * (m * defect + beta * q * v * (2 + v) * i2), sn, cs);
        tails += w * ((t - v) * cs - (2 + t + v) * q * sn) / ((t + v) * (t + v) + 4 * v);
        density += w * (cs - q * sn);
    }
    const R scale = 2 / pi * step;
    R total = (tau < 0 ? -scale : scale) * tails;
    if (fabsq(excess) * step < 2 * M_PIq * root) {
        const R e = 2 * pi * R(fabsq(tau / (1 + root))) / step;
        total += ex(-R(phi0) - e) / (1 + ex(-e));
    }
    return {phi0 + ln(total), 2 * (m + beta) * scale * density / total, tau >= 0};
}

// (claimed score of a ball) - (its true score), to first order
template <class R>
Quad score_excess(const Point& p, Quad claimed) {
    const Quad side = p.upper ? -claimed : claimed;  // the tail is Phi(side)
    const Quad off = (log_ndtr<R>(side) - p.log_tail) * expq(log_mills(R(-side)));
    return p.upper ? -off : off;
}

struct Case {
    double b, alpha, dim, log_k;
    bool up;
    rsb::Ratio ratio() const {
        const double t = std::fabs(log_k);
        return up ? rsb::Ratio{std::exp(t), std::expm1(t), std::expm1(2 * t)}
                  : rsb::Ratio{std::exp(-t), -std::expm1(-t), -std::expm1(-2 * t)};
    }
};

// A claimed gain less the true one. Of the ratio's three numbers, k where it is small and `change` else
// count as exact.
template <class R>
Quad error_of(const Case& c, const rsb::Ratio& r, Quad claimed, Quad* truth = nullptr) {
    const Quad change = r.k < 0.5 ? 1 - Quad(r.k) : Quad(r.change);
    const Quad k = c.up ? 1 + change : r.k < 0.5 ? Quad(r.k) : 1 - change;
    const Quad s0 = c.alpha / (change * (1 + k)), b = c.up ? -c.b : c.b;
    Quad log_rho = logq(rsb::ball_at(double(b), c.dim, double(s0)).rho);
    if (!(log_rho > -600))
        log_rho = (log_ndtr<R>(b) + s0 * s0 / 2 + lgammaq(c.dim / 2 + 1)) / c.dim + logq(2) / 2;
    for (int i = 0; i < 20; ++i) {
        const Point p = tail<R>(c.dim, s0, log_rho);
        const Quad off = log_ndtr<R>(p.upper ? -b : b) - p.log_tail;
        const Quad step = (p.upper ? -off : off) / p.slope;
        log_rho += step;
        if (fabsq(off) < (std::is_same_v<R, Quad> ? 1e-18 : 1e-11)) break;
    }
    const Point end = tail<R>(c.dim, k * s0, log_rho - logq(k));
    const Quad x = c.up ? -(Quad(c.b) + claimed) : Quad(c.b) + claimed;
    const Quad off = score_excess<R>(end, x);
    if (truth) {
        Quad y = x;
        for (int i = 0; i < 8; ++i) y -= score_excess<R>(end, y);
        *truth = (c.up ? -y : y) - c.b;
    }
    return c.up ? -off : off;
}

// Error of a claimed excess of P0's score: the ball with P1 = 1/2, and its P0.
static Quad median_error(const Case& c, const rsb::Ratio& r, double claimed) {
    const Quad change = r.k < 0.5 ? 1 - Quad(r.k) : Quad(r.change);
    const Quad k = c.up ? 1 + change : r.k < 0.5 ? Quad(r.k) : 1 - change;
    const Quad s0 = c.alpha / (change * (1 + k)), s1 = k * s0;
    Quad log_rho = logq(s1 * s1 + c.dim) / 2;
    for (int i = 0; i < 20; ++i) {
        const Point p = tail<Long>(c.dim, s1, log_rho);
        const Quad off = -logq(Quad(2)) - p.log_tail, step = (p.upper ? -off : off) / p.slope;
        log_rho += step;
        if (fabsq(off) < 1e-11) break;
    }
    const Point ball = tail<Long>(c.dim, s0, log_rho + logq(k));
    return fabsq(score_excess<Long>(ball, c.up ? Quad(claimed) - c.b : Quad(c.b) - claimed));
}

template <bool rough>
rsb::Gain median_claim(const Case& c) {
    const rsb::MedianBall ball = rsb::median_ball(c.alpha, c.ratio(), c.up, c.dim);
    if (!ball.valid) return {rsb::nan, rsb::nan};
    return rough ? rsb::rough_gain(ball, c.b, c.up) : rsb::median_gain(ball, c.b, c.up, false);
}

template <bool rough>
double median_ratio(const Case& c) {
    const rsb::Gain g = median_claim<rough>(c);
    return g.value == g.value ? double(median_error(c, c.ratio(), g.value) / Quad(g.error)) : 0;
}

template <bool integrated>
double gain_ratio(const Case& c) {
    const rsb::Ratio r = c.ratio();
    if (!(r.change > 0 && r.k > 0 && r.change2 < rsb::inf)) return 0;
    const rsb::Gain g = rsb::gain(c.b, c.alpha, r, c.up, c.dim);
    if (!(g.value < rsb::inf) || (integrated && g.score == g.score)) return 0;
    const bool fine = g.error < 1e-15 * (1 + std::fabs(c.b));
    const Quad error = fabsq(fine ? error_of<Quad>(c, r, g.value) : error_of<Long>(c, r, g.value));
    const double ratio = error / Quad(g.error);
    if (!(g.score_error > 0)) return ratio;
    const Quad off = fabsq(error_of<Long>(c, r, Quad(g.score) - c.b));
    return std::fmax(ratio, off / Quad(g.score_error));
}

static double upper_ratio(const Case& c) {
    const rsb::Ratio r = c.ratio();
    const double x = rsb::rough_score(c.b, c.alpha, r, c.up, c.dim);
    if (!(std::fabs(x) < rsb::inf)) return 0;
    const double s0 = c.alpha / r.change2, c2 = 0.5 * c.dim + s0 * s0;
    return std::exp(-double(error_of<Long>(c, r, Quad(x) - c.b)) * c2 * std::sqrt(c2) / (1 + std::fabs(c.b)));
}

// The ball of a budget: its score less the budget, from the middle of 0 and twice `raised`
static double ball_ratio(const Case& c) {
    const double s = c.alpha, sign = c.up ? -1 : 1, h = 0.5 * s * s;
    if (!(s < 1e15)) return 0;
    const rsb::Quantile by = rsb::quantile(c.b + c.log_k, 0.5 * c.dim, h);  // begins beside it
    const rsb::Quantile q = rsb::quantile({c.b, 0}, 0.5 * c.dim, {h, 0}, {by.r, by.at.tau}, sign);
    const Quad root = q.last.root, tau = q.last.tau, nc = 2 * Quad(h);
    const Quad ratio = (q.deep() ? root * root : 1 + tau) * (1 + Quad(q.growth));
    if (!(ratio > 1e-300Q)) return 0;
    const Point p = tail<Long>(c.dim, sqrtq(nc), logq(ratio * (c.dim + nc * ratio)) / 2);
    return double(fabsq(score_excess<Long>(p, c.b + sign * Quad(q.raised))) / q.raised);
}

int main(int argc, char** argv) {
    if (argc > 6) {
        const double k = std::atof(argv[4]);
        Case c{std::atof(argv[2]), std::atof(argv[3]), std::atof(argv[6]), std::log(k), argv[5][0] == '1'};
        const rsb::Gain g = rsb::gain(c.b, c.alpha, c.ratio(), c.up, c.dim);
        Quad truth = 0;
        const Quad error = fabsq(error_of<Quad>(c, c.ratio(), g.value, &truth));
        std::printf("%.18Lg %.17g %.3g %.3g\n", Long(truth), g.value, g.error, double(error));
        return 0;
    }
    const bool rough = argv[1][0] == 'r', median = rough || argv[1][0] == 'm';
    const auto ratio_of = rough ? median_ratio<true> : median ? median_ratio<false>
                          : argv[1][0] == 'u' ? upper_ratio
                          : argv[1][0] == 'b' ? ball_ratio
                          : argv[1][0] == 'p' ? gain_ratio<true> : gain_ratio<false>;
    std::mt19937_64 random(std::atoi(argv[2]));
    const long budget = std::atol(argv[3]);
    std::uniform_real_distribution<double> unit(0, 1);
    std::normal_distribution<double> normal;
    Case worst{};
    double largest = 0;
    for (long used = 0; used < budget;) {
        Case c;
        c.dim = unit(random) < 0.1 ? 1 : std::pow(10, 8 * std::pow(unit(random), 1.5));
        const double size = std::pow(10, unit(random) * (unit(random) < 0.2 ? 6 : 2.3) - 1);
        c.b = unit(random) < 0.8 ? -size : size;
        c.up = unit(random) < 0.5;
        c.alpha = size * std::pow(10, unit(random) < 0.5 ? -12 * unit(random) : -unit(random));
        c.log_k = std::pow(10, unit(random) < 0.5 ? 2.3 - 12 * unit(random) : -std::log10(c.dim) * unit(random));
        if (unit(random) < 0.3) c.log_k = size * std::sqrt(0.5 / c.dim) * std::pow(10, unit(random) - 0.7);
        if (unit(random) < 0.3) c.alpha *= std::exp(-c.log_k);
        if (unit(random) < 0.3) {  // short segments, which are integrated
            c.log_k = 0.1 * std::pow(10, -6 * unit(random));
            c.alpha = (size + std::sqrt(c.dim)) * c.log_k * std::pow(10, 2 - 8 * unit(random));
        }
        if (median) {  // a distance near the radius, where certificates are made
            c.b = -size;
            double low = 1e-12 * size, high = 4 * size;
            for (int i = 0; i < 40; ++i) {
                c.alpha = std::sqrt(low * high);
                (median_claim<false>(c).value < 0 ? low : high) = c.alpha;
            }
            if (unit(random) < 0.3) c.alpha *= std::exp(0.3 * normal(random));
            if (ratio_of(c) == 0) continue;
        }
        double best = ratio_of(c), scale = 0.3;
        ++used;
        if (!(best >= 0)) {
            std::printf("NaN at b %.17g alpha %.17g log_k %.17g up %d dim %.17g\n", c.b, c.alpha, c.log_k, c.up, c.dim);
            best = 0;
        }
        for (int misses = 0; misses < 12 && scale > 1e-9 && used < budget;) {
            Case d = c;
            d.b *= std::exp(scale * normal(random));
            d.alpha *= std::exp(scale * normal(random));
            d.log_k *= std::exp(scale * normal(random));
            d.dim = std::fmin(1e8, std::fmax(1, d.dim * std::exp(scale * normal(random))));
            const double found = std::fabs(d.b) <= 1e6 ? ratio_of(d) : 0;
            ++used;
            if (found > best) best = found, c = d, misses = 0;
            else ++misses, scale *= 0.7;
        }
        if (best > largest) {
            largest = best, worst = c;
            if (argc > 4) std::printf("%.3f at %ld: b %.17g alpha %.17g log_k %.17g up %d dim %.17g\n", best, used, c.b, c.alpha, c.log_k, c.up, c.dim);
        }
    }
    std::printf("%.4f b %.17g alpha %.17g log_k %.17g up %d dim %.17g\n", largest, worst.b, worst.alpha,
                worst.log_k, worst.up, worst.dim);
}
