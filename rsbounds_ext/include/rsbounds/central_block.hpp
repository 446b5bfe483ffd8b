// Tails of the central chi-square law at many points side by side: what central.hpp and
// large_df.hpp do, stage by stage, as each stage is a chain of dependent steps. The
// operations of a point are those of one alone, so its bits are the same.
#pragma once

#include <cstring>

#include "small_df.hpp"

namespace rsb {

constexpr int law_block = 32;

constexpr int law_chunk = 4 * lanes;
static_assert(law_block % law_chunk == 0);

// The inner sums at the first `count` of y; behind them it must be above 0.
inline void lower_sums(double a, const double* y, int count, double* out) {
    for (int i = 0; i < count; i += law_chunk) {
        vec at[4];
        vec s[4];
        std::memcpy(at, y + i, sizeof at);
        inner_lower(a, at, s);
        std::memcpy(out + i, s, sizeof s);
    }
}

inline void upper_sums(double a, const double* y, int count, double* out) {
    for (int i = 0; i < count; i += law_chunk) {
        vec at[4];
        vec h[4];
        for (vec& each : h) each = spread(1, each);
        std::memcpy(at, y + i, sizeof at);
        if (from_half(a)) {
            double roots[law_chunk];
            for (int j = 0; j < law_chunk; ++j) roots[j] = std::sqrt(2 * y[i + j]);
            vec z[4];
            std::memcpy(z, roots, sizeof z);
            mills(z, h);
            for (int j = 0; j < 4; ++j) h[j] = z[j] * h[j];
        }
        inner_upper(a, at, h);
        std::memcpy(out + i, h, sizeof h);
    }
}

// The places of lower and of upper tails, and half the points there; the rest is padding
struct Sides {
    int places[2][law_block];
    double y[2][law_block];
    int counts[2] = {0, 0};

    Sides(const double (&x)[law_block], double border, double padding) {
        for (auto& side : y)
            for (double& each : side) each = padding;
        for (int i = 0; i < law_block; ++i) {
            const bool upper = x[i] >= border;
            places[upper][counts[upper]] = i;
            y[upper][counts[upper]] = 0.5 * x[i];
            ++counts[upper];
        }
    }
    // put(place, its number on that side)
    template <class Put>
    RSB_INLINE void each(int upper, Put put) const {
        for (int j = 0; j < counts[upper]; ++j) put(places[upper][j], j);
    }
};

template <class F>
void central_block(const double (&x)[law_block], double df, double (&out)[law_block],
                   F value) {
    const double a = 0.5 * df;
    const Sides sides(x, df, a);
    double inner[2][law_block];
    lower_sums(a, sides.y[0], sides.counts[0], inner[0]);
    upper_sums(a, sides.y[1], sides.counts[1], inner[1]);
    for (int upper = 0; upper < 2; ++upper)
        sides.each(upper, [&](int i, int j) {
            const double y = 0.5 * x[i];
            const Sum2 sum = upper ? central_upper(a, y, inner[1][j])
                                   : central_lower(a, y, inner[0][j]);
            out[i] = value(CentralTail(CentralPoint({x[i], 0}, df), sum));
        });
}

inline void poisson_sums(const PoissonSum& sum, const double* y, int count,
                         double* out) {
    for (int i = 0; i < count; i += law_chunk) {
        vec at[4];
        vec inner[4];
        std::memcpy(at, y + i, sizeof at);
        inner_poisson(sum, at, inner);
        std::memcpy(out + i, inner, sizeof inner);
    }
}

template <class F>
void poisson_block(const double (&x)[law_block], double df, double nc,
                   double (&out)[law_block], F value) {
    const double a = 0.5 * df;
    const Sides sides(x, df + nc, a);
    double inner[law_block];
    const PoissonSum lower = poisson_lower(a, 0.5 * nc);
    poisson_sums(lower, sides.y[0], sides.counts[0], inner);
    sides.each(0, [&](int i, int j) {
        out[i] = value(poisson_tail(false, x[i], df, lower.first, inner[j]));
    });
    const PoissonSum upper = poisson_upper(a, 0.5 * nc);
    double central[law_block];
    upper_sums(a, sides.y[1], sides.counts[1], central);
    poisson_sums(upper, sides.y[1], sides.counts[1], inner);
    sides.each(1, [&](int i, int j) {
        const Sum2 first = central_upper(a, 0.5 * x[i], central[j]);
        out[i] = value(poisson_tail(true, x[i], df, first, inner[j]));
    });
}

template <class F>
void uniform_block(const double (&x)[law_block], const double (&df)[law_block],
                   double (&out)[law_block], F value) {
    UniformExponent at[law_block];
    UniformTail tails[law_block];
    for (int i = 0; i < law_block; ++i)
        at[i] = UniformExponent({x[i], 0}, ncx2_excess(x[i], df[i], 0), df[i]);
    for (int i = 0; i < law_block; ++i) tails[i] = UniformTail(at[i]);
    for (int i = 0; i < law_block; ++i)
        out[i] = at[i].near() ? value(tails[i])
                              : with_ncx2_tail(x[i], df[i], 0, value);
}

// `alone` at each point, or quicker, where all are of one law without a contour: the
// `value` of its tails
template <class F>
void ncx2_block(const double (&x)[law_block], const double (&df)[law_block],
                const double (&nc)[law_block], double (&out)[law_block],
                double (*alone)(double, double, double), F value) {
    bool inside = true;
    bool uniform = true;
    for (int i = 0; i < law_block; ++i) {
        inside &= (x[i] > 0) & (x[i] < 1e120);
        uniform &= (nc[i] == 0) & (df[i] > central_most) & (df[i] <= most_df);
    }
    if (inside && uniform) return uniform_block(x, df, out, value);
    const bool central = central_law(df[0], nc[0]);
    if (inside && (central || poisson_law(df[0], nc[0]))) {
        bool one_law = true;
        bool near_by = true;
        for (int i = 0; i < law_block; ++i) {
            one_law &= (df[i] == df[0]) & (nc[i] == nc[0]);
            near_by &= poisson_point(x[i], nc[i]);
        }
        if (one_law && central) return central_block(x, df[0], out, value);
        if (one_law && near_by) return poisson_block(x, df[0], nc[0], out, value);
    }
    for (int i = 0; i < law_block; ++i) out[i] = alone(x[i], df[i], nc[i]);
}

}  // namespace rsb
