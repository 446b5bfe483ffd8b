// The curve through the corners of regions of constant likelihood ratio: what events
// have at x', at least and at most. rsbounds/discrete/_regions.py makes the regions.
#pragma once

#include <algorithm>
#include <cstddef>

namespace rsb::regions {

// Partial sums of masses from either end, `size` of each; a mass and a sum is off by
// `error` of it, and by `lost`. A sure event lacks `outside` at most.
struct Regions {
    const double *before, *after, *shifted_before, *shifted_after;
    std::ptrdiff_t size;
    double error, lost, outside;
    int changed;  // whether the laws at x and at x' differ

    double below(double value) const {
        return std::max(value * (1 - 2 * error) - lost, 0.0);
    }
    double above(double value) const { return value * (1 + 2 * error) + lost; }
};

// Two lines through corners at `at`, each by positive terms alone: the first rises, the
// second falls and is given from its end. Both are level beyond the last corner.
struct Lines {
    double up, down;
};

inline Lines between(double value, std::ptrdiff_t size, const double* at,
                     const double* rising, const double* falling_from_end) {
    // of corners above each other, where a region has no mass, the last one
    const std::ptrdiff_t place = std::upper_bound(at, at + size, value) - at;
    const std::ptrdiff_t after = std::min(place, size - 1), before = after - 1;
    const double start = at[before], end = at[after];
    const double width = end - start > 0 ? end - start : 1;
    const bool inside = place < size;
    const double share = inside ? (value - start) / width : 1;
    const double rest = inside ? (end - value) / width : 0;
    const double high = falling_from_end[size - 1 - before];
    const double low = falling_from_end[size - 1 - after];
    return {rising[before] + share * (rising[after] - rising[before]),
            low + rest * (high - low)};
}

// What an event has at least, and what it lacks at most
struct Ends {
    double least, most;
};

// The ends at x' of an event of ends p, q at x
inline Ends ends(const Regions& of, double p, double q) {
    if (!of.changed) return {p, q};
    double low, high;
    // the smaller one of p and q has the digits
    if (p < q) {
        const Lines lines = between(of.below(p), of.size, of.before, of.shifted_before,
                                    of.shifted_after);
        low = lines.up;
        high = lines.down;
    } else {
        const Lines lines = between(of.above(q), of.size, of.after, of.shifted_after,
                                    of.shifted_before);
        low = lines.down;
        high = lines.up;
    }
    // a sure event has all that x produces
    return {of.below(low), q == 0 ? of.outside : std::min(of.above(high), 1.0)};
}

// Whether an event surely has more than half
inline bool holds(const Ends& top) { return top.least > 0.5 || top.most < 0.5; }

// Whether two events surely have more than 1 together
inline bool hold(const Ends& top, const Ends& rest) {
    // l_1 > 1 - l_2 where l_2 is next to 1, the other way around where l_1 is, and the
    // last form where both complements are small: 1 + 1e-20 would be 1. A sum that is
    // rounded is on the side of 1 that the exact one is on, or 1.
    return top.least > rest.most || rest.least > top.most ||
           top.least + rest.least > 1 || top.most + rest.most < 1;
}

}  // namespace rsb::regions
