
// Brightness and contrast together: x -> e^k x + b, with k ~ N(0, spread^2) and
// b ~ N(0, sigma^2) independent. Derived in docs/theory/transformations.md
// ("Brightness and contrast together", "The two integrals").
//
// An attack e^kappa x + beta moves k by kappa and then b by e^(k - kappa) beta. In
// u = k/spread, shift = kappa/spread, reach = |beta|/sigma and
//   mu(u) = reach e^(spread (u - shift)),
// the events of least probability under the attack, for their own probability, are
// b/sigma <= c(u),  c(u) = (t - u shift + shift^2/2)/mu(u) + mu(u)/2,  with
//   P = int phi(u) Phi(c(u)) du,    Q = int phi(u - shift) Phi(c(u) - mu(u)) du.
// By Neyman and Pearson's lemma in its dual form an event of probability p keeps
// at least Q + e^t (p - P) whatever t is: t is searched by a rule of 12 nodes, and
// only the last evaluation, of 20 nodes with an error bound, decides.
//
// The integrals: panels on which Phi is 0 or 1 to 1e-18 are exact; on the others the
// integrand is analytic inside the Bernstein ellipse of rho = 3.5 about the panel,
// which is narrowed until |Im c| <= 2.5 there. Gauss and Legendre's rule of N nodes
// then errs by (64/15) M rho^(-2N + 2)/(1 - rho^-2) half a panel (Trefethen,
// Approximation theory and approximation practice, theorem 19.3), with M the largest
// value on the ellipse: |Phi(x + iy)| <= 1 + 0.4 |y| e^(y^2/2).
#pragma once

#include <algorithm>
#include <initializer_list>

#include "normal.hpp"

namespace rsb {

constexpr double affine_tail = 8.6;      // 2 Q(8.6) < 1e-17 of either law lies beyond
constexpr double affine_settled = 9;     // Q(9) < 2e-19
constexpr double affine_tail_error = 3e-17;
constexpr double affine_round = 1.2e-16;  // a rounding, 2^-53, and room
constexpr double affine_sum_error = 8.4e-14;  // of a sum, but for its additions

struct Attack {
    double shift;   // kappa/spread
    double reach;   // |beta|/sigma > 0
    double spread;  // of the logarithm of contrast
};

struct Masses {
    double plain = 0, moved = 0;              // 1 - P and 1 - Q
    double plain_error = 0, moved_error = 0;  // largest errors of these
    double slope = 0;                         // -d(plain)/dt
};

// One panel [left, right] of u.
struct Panel {
    double left, right;
    double middle() const { return 0.5 * (left + right); }
    double half() const { return 0.5 * (right - left); }
};

// The normal law's mass of a panel about `centre`.
inline double panel_mass(const Panel& x, double centre) {
    const double l = x.left - centre;
    const double r = x.right - centre;
    if (l >= 0) return upper_tail(l) - upper_tail(r);
    if (r <= 0) return upper_tail(-r) - upper_tail(-l);
    return 1 - upper_tail(-l) - upper_tail(r);
}

// The distance of a panel, widened by `more`, from a point.
inline double distance_from(const Panel& x, double more, double point) {
    return std::fmax(0.0, std::fmax(x.left - more - point, point - x.right - more));
}

// Bounds of a quotient on a panel, from its numerator's ends and its denominator's.
inline double least_quotient(double n, double low, double high) {
    return n >= 0 ? n / high : n / low;
}

class AffineSum {
  public:
    AffineSum(const Attack& attack, double t) : x(attack), t(t) {
        const double begin = std::fmin(0.0, x.shift) - affine_tail;
        const double end = std::fmax(0.0, x.shift) + affine_tail;
        at = begin;
        last = end;
    }

    // The sum over all panels by a rule of N nodes.
    template <int N>
    Masses total(const double (&node)[N], const double (&weight)[N]) {
        double width = 1.5;
        int panels = 0;
        while (at < last) {
            const Panel panel{at, std::fmin(at + width, last)};
            if (!add(panel, node, weight)) {
                width = 0.5 * panel.half() * 2;
                if (!(width > 1e-9)) return {nan, nan, nan, nan, nan};
                continue;
            }
            if (++panels > 2000) return {nan, nan, nan, nan, nan};
            at = panel.right;
            width = std::fmin(2 * width, 1.5);
        }
        const double rounding = affine_sum_error + (N + panels) * affine_round;
        sum.plain_error += affine_tail_error + rounding * sum.plain;
        sum.moved_error += affine_tail_error + rounding * sum.moved;
        return sum;
    }

  private:
    const Attack x;
    const double t;
    double at, last;
    Masses sum;

    double numerator(double u) const { return t - x.shift * (u - 0.5 * x.shift); }
    double mean(double u) const {
        return x.reach * std::exp(x.spread * (u - x.shift));
    }

    // Adds a panel; false if it must be narrower.
    template <int N>
    bool add(const Panel& panel, const double (&node)[N], const double (&weight)[N]) {
        const bool plain_counts = distance_from(panel, 0, 0) < affine_tail;
        const bool moved_counts = distance_from(panel, 0, x.shift) < affine_tail;
        if (!plain_counts && !moved_counts) return true;
        // bounds of c on the panel: numerator is linear, the mean increases
        const double n0 = numerator(panel.left);
        const double n1 = numerator(panel.right);
        const double low = std::fmin(n0, n1);
        const double high = std::fmax(n0, n1);
        const double m0 = mean(panel.left);
        const double m1 = mean(panel.right);
        const double least = least_quotient(low, m0, m1);
        const double most = -least_quotient(-high, m0, m1);
        const int plain = settled(least + 0.5 * m0, most + 0.5 * m1, plain_counts);
        const int moved = settled(least - 0.5 * m1, most - 0.5 * m0, moved_counts);
        if (plain != 0 && moved != 0) {
            settle(panel, plain, moved);
            return true;
        }
        // the rectangle about the ellipse of rho = 3.5
        const double half = panel.half();
        const double more = 0.8929 * half;
        const double high_up = 1.6072 * half;
        const double turn = x.spread * high_up;
        if (!(turn <= 0.7)) return false;
        const double outer_low = mean(panel.left - more);
        const double outer_high = mean(panel.right + more);
        const double largest =
            std::fmax(std::fabs(numerator(panel.left - more)),
                      std::fabs(numerator(panel.right + more)));
        const double imaginary = turn * (largest / outer_low + 0.5 * outer_high) +
                                 std::fabs(x.shift) * high_up / outer_low;
        if (!(imaginary <= 2.5)) return false;
        settle(panel, plain, moved);
        const double growth = std::exp(0.5 * high_up * high_up) *
                              (1 + 0.4 * imaginary * std::exp(0.5 * imaginary * imaginary));
        // (64/15)/(1 - rho^-2) = 4.65; phi <= 0.4
        const double rule =
            4.7 * 0.4 * half * growth * std::pow(3.5, 2.0 - 2 * N);
        if (plain == 0) {
            const double d = distance_from(panel, more, 0);
            sum.plain_error += rule * std::exp(-0.5 * d * d);
        }
        if (moved == 0) {
            const double d = distance_from(panel, more, x.shift);
            sum.moved_error += rule * std::exp(-0.5 * d * d);
        }
        add_nodes(panel, node, weight, plain == 0, moved == 0, m1);
        return true;
    }

    // 1 or -1 where Phi is 1 or 0 on the whole panel, 2 where it doesn't count, else 0.
    static int settled(double least, double most, bool counts) {
        if (!counts) return 2;
        if (least >= affine_settled) return 1;
        if (most <= -affine_settled) return -1;
        return 0;
    }

    // What is known of a panel without a rule: 1 - Phi is 1 where Phi is 0.
    void settle(const Panel& panel, int plain, int moved) {
        if (plain == -1) sum.plain += panel_mass(panel, 0);
        if (moved == -1) sum.moved += panel_mass(panel, x.shift);
        if (plain == 1 || plain == -1) sum.plain_error += 3e-19;
        if (moved == 1 || moved == -1) sum.moved_error += 3e-19;
    }

    // The rule on a panel at whose right end the mean is `largest`.
    template <int N>
    void add_nodes(const Panel& panel, const double (&node)[N],
                   const double (&weight)[N], bool plain, bool moved, double largest) {
        constexpr int vecs = N / lanes;
        static_assert(vecs * lanes == N);
        vec u[vecs];
        vec m[vecs];
        vec quotient[vecs];
        vec c_error[vecs];
        vec w[vecs];
        const double middle = panel.middle();
        const double half = panel.half();
        const double square = 0.5 * x.shift * x.shift;
        for (int i = 0; i < vecs; ++i) {
            vec at_node;
            std::memcpy(&at_node, node + lanes * i, sizeof at_node);
            std::memcpy(&w[i], weight + lanes * i, sizeof at_node);
            w[i] = w[i] * (half / sqrt_2pi);
            u[i] = middle + half * at_node;
            const vec back = u[i] - panel.right;
            m[i] = largest * exp_neg(x.spread * (back < 0.0 ? back : 0.0 * back));
            quotient[i] = (t - x.shift * u[i] + square) / m[i];
            // roundings of c: of the numerator's terms, and of the mean's exponents
            const vec terms = (std::fabs(t) + magnitude(x.shift * u[i]) + square) / m[i];
            const double exponent =
                x.spread * (std::fabs(panel.right) + std::fabs(x.shift) + 2);
            c_error[i] =
                (affine_round * (16 + 4 * exponent)) * (terms + 0.5 * m[i]);
        }
        if (plain)
            add_law<vecs>(u, m, quotient, 0.5, 0.0, c_error, w, sum.plain,
                          sum.plain_error, &sum.slope);
        if (moved)
            add_law<vecs>(u, m, quotient, -0.5, x.shift, c_error, w, sum.moved,
                          sum.moved_error, nullptr);
    }

    // Adds 1 - Phi of c = quotient + side mean under the normal law about `centre`.
    template <int vecs>
    static void add_law(const vec (&u)[vecs], const vec (&m)[vecs],
                        const vec (&quotient)[vecs], double side, double centre,
                        const vec (&c_error)[vecs], const vec (&w)[vecs], double& mass,
                        double& error, double* slope) {
        vec c[vecs];
        vec size[vecs];
        vec ratio[vecs];
        for (int i = 0; i < vecs; ++i) {
            c[i] = quotient[i] + side * m[i];
            // beyond 40 the bell is 0 whatever the ratio is
            size[i] = magnitude(c[i]);
            size[i] = size[i] < 40.0 ? size[i] : 0.0 * size[i] + 40.0;
        }
        mills(size, ratio);
        vec total = w[0] * 0.0;
        vec apart = total;
        vec rise = total;
        for (int i = 0; i < vecs; ++i) {
            const vec off = u[i] - centre;
            const vec density = w[i] * exp_neg(-0.5 * off * off);
            const vec bell = exp_neg(-0.5 * size[i] * size[i]) / sqrt_2pi;
            const vec tail = bell * ratio[i];
            total += density * (c[i] > 0.0 ? tail : 1.0 - tail);
            rise += density * bell / m[i];
            // how far Phi moves where c is off
            const vec near = 1.7 * bell * c_error[i];
            const vec far = c_error[i] < 2.0 ? 0.5 * c_error[i] : 0.0 * near + 1.0;
            apart += density * (size[i] * c_error[i] < 0.5 ? near : far);
        }
        mass += rsb::sum(total);
        error += rsb::sum(apart);
        if (slope) *slope += rsb::sum(rise);
    }

    static vec magnitude(vec a) { return a < 0.0 ? -a : a; }
};

inline Masses affine_masses(const Attack& x, double t) {
    static constexpr double node[] = {
        -0.9931285991850949, -0.9639719272779138, -0.912234428251326,
        -0.8391169718222188, -0.7463319064601508, -0.636053680726515,
        -0.5108670019508271, -0.37370608871541955, -0.22778585114164507,
        -0.07652652113349734, 0.07652652113349734, 0.22778585114164507,
        0.37370608871541955, 0.5108670019508271, 0.636053680726515,
        0.7463319064601508, 0.8391169718222188, 0.912234428251326, 0.9639719272779138,
        0.9931285991850949};
    static constexpr double weight[] = {
        0.017614007139152118, 0.04060142980038694, 0.06267204833410907,
        0.08327674157670475, 0.10193011981724044, 0.11819453196151841,
        0.13168863844917664, 0.14209610931838204, 0.14917298647260374,
        0.15275338713072584, 0.15275338713072584, 0.14917298647260374,
        0.14209610931838204, 0.13168863844917664, 0.11819453196151841,
        0.10193011981724044, 0.08327674157670475, 0.06267204833410907,
        0.04060142980038694, 0.017614007139152118};
    return AffineSum(x, t).total(node, weight);
}

inline Masses rough_affine_masses(const Attack& x, double t) {
    static constexpr double node[] = {
        -0.9815606342467192, -0.9041172563704749, -0.7699026741943047,
        -0.5873179542866175, -0.3678314989981802, -0.1252334085114689,
        0.1252334085114689, 0.3678314989981802, 0.5873179542866175,
        0.7699026741943047, 0.9041172563704749, 0.9815606342467192};
    static constexpr double weight[] = {
        0.04717533638651183, 0.10693932599531843, 0.16007832854334622,
        0.20316742672306592, 0.2334925365383548, 0.24914704581340277,
        0.24914704581340277, 0.2334925365383548, 0.20316742672306592,
        0.16007832854334622, 0.10693932599531843, 0.04717533638651183};
    return AffineSum(x, t).total(node, weight);
}

// Beyond this score probabilities count as that score's: less is certified then.
constexpr double affine_most = 8;

// The most that 1 - (probability under the attack) can be of an event whose
// probability has the score z; `t` is where the search begins, and where it ended.
inline double affine_loss(const Attack& x, double z, double& t) {
    z = std::fmin(z, affine_most);
    if (!(z > -affine_most)) return 1;
    // exact for a constant mean
    const double size = std::hypot(x.reach, x.shift);
    if (!(t == t)) t = size * (z - 0.5 * size);
    double low = -inf;
    double high = inf;
    for (int i = 0; i < 40; ++i) {
        const Masses m = rough_affine_masses(x, t);
        // Newton's step in scores, which are nearly linear in t
        const double score = -ndtri(m.plain);
        (score < z ? low : high) = t;
        const double slope = m.slope * sqrt_2pi / exp_half_square(score);
        double next = t + (z - score) / slope;
        if (slope > 0 && std::fabs(z - score) < 1e-6) {
            t = next;  // whatever side of the bracket it is on
            break;
        }
        if (!(slope > 0 && std::fabs(score) < 12 && next > low && next < high)) {
            const double far = size * (1 + size) * double(1 << std::min(i, 20));
            next = score < z ? (high < inf ? 0.5 * (t + high) : t + far)
                             : (low > -inf ? 0.5 * (t + low) : t - far);
        }
        t = next;
    }
    const Masses m = affine_masses(x, t);
    // q rounded up: the event may be as small as that
    const double q = (z > 0 ? upper_tail(z) : 1 - upper_tail(-z)) * (1 + 8e-15);
    const double rest = q - m.plain + m.plain_error;
    const double off = 4 * affine_round * (1 + std::fabs(t));
    const double multiplier = std::exp(t) * (rest > 0 ? 1 + off : 1 - off);
    const double loss = m.moved + m.moved_error + multiplier * rest;
    // below 0 only by an overflow: nothing is known then
    const bool known = std::isgreaterequal(loss, 0) && std::islessequal(loss, 1);
    return known ? loss * (1 + 1e-15) : 1;
}

struct AffineBudget {
    double z_a, z_b, spread;
    double t_a = nan, t_b = nan;  // where the last searches ended

    // rounded down: a room may be far below the score's last digit
    static double less(double z, double room) {
        return room > 0 ? std::nextafter(z - room, -inf) : z;
    }

    // Whether the class leads at every attack within `room` of shift, in its own unit,
    // and with this reach.
    bool certified(double shift, double room, double reach) {
        const Attack x{shift, reach, spread};
        const double a = affine_loss(x, less(z_a, room), t_a);
        const double b = z_b == -z_a ? a : affine_loss(x, less(-z_b, room), t_b);
        return std::isless(a + b, 1 - 1e-15);
    }

    // All attacks with |shift| <= most, from the left end by steps as long as hold;
    // `failed` is where none does.
    bool certified_within(double most, double reach, double first, double& failed) {
        double covered = -most;
        double half = first;
        for (int i = 0; i < 4000 && covered < most; ++i) {
            half = std::fmin(half, 0.5 * (most - covered) * (1 + 1e-15));
            const double middle = covered + half;
            // the roundings of the step, and of the shift itself
            const double room = half * (1 + 4e-16) + 8e-16 * most;
            if (certified(middle, room, reach)) {
                covered = middle + half;
                half *= 1.8;
                continue;
            }
            failed = middle;
            half *= 0.5;
            if (!(half > 1e-9 * most)) return false;
        }
        return covered >= most;
    }

    // A reach near the largest that is certified at one shift, at most `high`.
    double root(double shift, double high) {
        double low = 0;
        double reach = high;
        double last = 0;
        double f_last = std::fabs(shift) - 0.5 * (z_a - z_b);  // at 0
        for (int i = 0; i < 80; ++i) {
            const Attack x{shift, reach, spread};
            const double a = affine_loss(x, z_a, t_a);
            const double b = z_b == -z_a ? a : affine_loss(x, -z_b, t_b);
            // half the sum as a score is nearly linear in the reach
            const double f = ndtri(0.5 * (a + b));
            if (i == 0 && f < 0) return reach;
            (f < 0 ? low : high) = reach;
            double next = reach - f * (reach - last) / (f - f_last);
            if (std::fabs(next - reach) <= 1e-13 * reach) return next;
            if (!(next > low && next < high)) next = 0.5 * (low + high);
            if (high - low <= 1e-13 * high) break;
            last = reach;
            f_last = f;
            reach = next;
        }
        return low;
    }
};

// The largest |beta|/sigma that is certified at every |kappa| <= contrast: within
// 2e-12 of it at contrast 0 for z_b = -z_a from .1 to 4.5 (an integral's error is some
// 1e-16, and counts where probabilities or their difference are small), else within
// 1.1e-3 of the smaller of the ends at -contrast and contrast, wherever one of these is
// the smallest; the less the smaller contrast/spread is.
inline double affine_radius(double z_a, double z_b, double spread, double contrast) {
    if (!(z_a == z_a && z_b == z_b && spread > 0 && spread <= 2 && contrast >= 0 &&
          contrast < inf))
        return nan;
    if (!(z_a > z_b)) return 0;
    // more than the score of 8 on both sides can't be used
    z_a = std::fmin(z_a, affine_most);
    z_b = std::fmax(z_b, -affine_most);
    const double most = contrast / spread;
    if (!(0.5 * (z_a - z_b) > most)) return 0;
    AffineBudget budget{z_a, z_b, spread};
    const double half = 0.5 * (z_a - z_b);
    double reach = budget.root(-most, 1.5 * half);
    if (most > 0) reach = std::fmin(reach, budget.root(most, reach));
    if (!(reach > 1e-6)) return 0;
    // Further from the roots at both ends fewer steps get from one to the other; ends
    // that are close take one step from the middle.
    double loss = std::fmin(1e-3, 4e-13 + 8 * most);
    for (int i = 0; i < 30; ++i) {
        const double checked = reach * (1 - loss);
        double failed = 0;
        const bool passed = most > 0
                                ? budget.certified_within(most, checked, loss, failed)
                                : budget.certified(0, 0, checked);
        if (passed) return checked;
        if (most > 0) {
            const double there = budget.root(failed, reach);
            if (there < reach * (1 - 1e-6)) {
                reach = there;
                continue;
            }
        }
        loss *= 4;
        if (!(loss < 0.5)) break;
    }
    return 0;
}

}  // namespace rsb

