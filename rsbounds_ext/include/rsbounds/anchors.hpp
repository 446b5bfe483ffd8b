// Scans of points over N anchors: the nearest, the mean distance to the k nearest, and
// the least distance to a bisector between anchors of two labels.
//
// A scan starts from dot products (x . p for each anchor p, by BLAS) and their least in
// each block of anchors. They only choose candidates, and always with `slack`, twice the
// bound of their error, to spare. What is returned is recomputed from differences, in
// blocks of 64 terms whose sums are added with compensation: such a sum of d terms is
// within `error` of the sum of their sizes, whatever d. The order of each such sum is
// written here, so that every processor and any number of threads give the same bits.
//
// The radius at x is the least over rivals j (another label than the nearest anchor's)
// of the largest margin (rho_j^2 - rho_i^2)/(2 |x_i - x_j|_*), over guards i of that
// label ("tight") or for the nearest anchor alone. Bounds that lose no digits leave few
// rivals (`sift`): half of rho_j^2 - rho_i^2, rounded down, is at hand from the dot
// products (the "gap"), and an upper bound of |x_i - x_j|_* tells that j cannot matter.
// The distances of both to one centre are such a bound. A second one reads a byte for
// each coordinate:
//   | |x_i - x_j|_* - step |code_i - code_j|_* | <= lost_i + lost_j,
// code a multiple of `step` near what is above the least coordinate, lost_i = |x_i -
// decoded|_*, whatever the code. It tells of most pairs of rival and guard too on which side of what
// matters they are. Proved in docs/theory/locally-biased.md.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#ifdef __AVX2__
#include <immintrin.h>
#endif

#include "simd.hpp"
#include "twofold.hpp"

namespace rsb::anchors {

using Index = std::int64_t;
constexpr Index block = 64;
constexpr Index tile = 16 * block;  // codes of 256 coordinates: 256 KiB
constexpr Index chunk = 256;        // codes compared before the next look at the limit
constexpr Index group = 32;         // codes in a register
constexpr Index hot_codes = 64;     // codes compared before any others
constexpr Index most_codes = 1 << 15;  // whose squares add up to less than 2^31
constexpr std::size_t seeds = 16;   // rivals nearest to x, one of them tried first
constexpr std::size_t first_guards = 8;  // asked before the others, for that choice too
constexpr double eps = 0x1p-52;
constexpr double error = 40 * eps;  // 64 roundings in a block, and those of the rest
constexpr double half = 0.5 - 1e-14;  // rounded down
constexpr double infinite = std::numeric_limits<double>::infinity();

template <class T>
RSB_INLINE T smaller(T a, T b) {
    return b < a ? b : a;
}
template <class T>
RSB_INLINE T larger(T a, T b) {
    return a < b ? b : a;
}

// An array of doubles. A std::vector of them would be one function in both copies of
// this code, of which the linker keeps either.
class Numbers {
    double* const data;

  public:
    explicit Numbers(Index size) : data(new double[std::size_t(size)]) {}
    Numbers(const Numbers&) = delete;
    Numbers& operator=(const Numbers&) = delete;
    ~Numbers() { delete[] data; }
    operator double*() { return data; }
};

// Which length of a difference: the dual of the norm that measures perturbations.
enum class Length { largest, euclidean, sum };

// Guards and rivals tried in their order. Against `largest` no guard is good for most
// rivals, so that more of them are asked.
template <Length length>
constexpr std::ptrdiff_t sorted = length == Length::largest ? 64 : 16;

struct Memory {
    const double* points;  // (count, dim)
    const double* squares;
    const Index* labels;
    Index count, dim;
    const double* point(Index i) const { return points + i * dim; }
};

// What BLAS says of some rows of x; the last block of `minima` may be shorter.
struct Products {
    const double* x;  // (rows, dim)
    const double* dots;
    const double* minima;
    const double* slacks;
    Index rows;
};

// Anchors of which labels
enum class Which { all, same, other };

// The products of one row, whose values are squared distances less |x|^2.
struct Row {
    const Memory& anchors;
    const double* x;
    const double* dots;
    const double* minima;
    double slack;

    Row(const Memory& memory, const Products& of, Index row)
        : anchors(memory), x(of.x + row * memory.dim),
          dots(of.dots + row * memory.count),
          minima(of.minima + row * ((memory.count + block - 1) / block)),
          slack(of.slacks[row]) {}

    double value(Index j) const { return anchors.squares[j] - 2 * dots[j]; }

    // Calls f(j, value) for each anchor whose value is below `limit()`, or at it, and
    // whose label is, or isn't, `label`
    template <Which which = Which::all, class Limit, class F>
    void each_near(Limit limit, F f, Index label = 0) const {
        const Index blocks = (anchors.count + block - 1) / block;
        for (Index b = 0; b < blocks; ++b) {
            if (!(minima[b] <= limit())) continue;
            const Index stop = smaller((b + 1) * block, anchors.count);
            for (Index from = b * block; from < stop; from += lanes) {
                const Index next = smaller(from + lanes, stop);
                if (next - from == lanes && !any_near<which>(from, limit(), label))
                    continue;
                for (Index j = from; j < next; ++j) {
                    const double v = value(j);
                    if (v <= limit() && is<which>(j, label)) f(j, v);
                }
            }
        }
    }

  private:
    template <Which which>
    bool is(Index j, Index label) const {
        return which == Which::all ||
               (anchors.labels[j] == label) == (which == Which::same);
    }

    // Whether one of the next four is near, and of such a label
    template <Which which>
    bool any_near(Index from, double limit, Index label) const {
        vec square;
        vec dot;
        std::memcpy(&square, anchors.squares + from, sizeof square);
        std::memcpy(&dot, dots + from, sizeof dot);
        ivec near = square - 2 * dot <= limit;
        if (which != Which::all) {
            ivec labels;
            std::memcpy(&labels, anchors.labels + from, sizeof labels);
            near &= which == Which::same ? labels == label : labels != label;
        }
        return ((near[0] | near[1]) | (near[2] | near[3])) != 0;
    }
};

// --- lengths of differences, within a relative `error`

// The sum of the first terms by halves, which are added to each other in place.
RSB_INLINE double sum_by_halves(double* terms, Index size) {
    Index width = 1;
    while (width < size) width *= 2;
    for (Index k = size; k < width; ++k) terms[k] = 0;
    while (width > 1) {
        width /= 2;
        for (Index k = 0; k < width; ++k) terms[k] += terms[width + k];
    }
    return terms[0];
}

template <Length length>
RSB_INLINE double of_block(const double* a, const double* b, Index size) {
    if (length == Length::largest) {
        // in lanes, which a compiler doesn't make of doubles: the largest has no order
        vec four = {};
        Index k = 0;
        for (; k + lanes <= size; k += lanes) {
            vec p;
            vec q;
            std::memcpy(&p, a + k, sizeof p);
            std::memcpy(&q, b + k, sizeof q);
            const vec difference = p - q;
            const vec side = difference < 0 ? -difference : difference;
            four = side > four ? side : four;
        }
        double most = 0;
        for (int lane = 0; lane < lanes; ++lane) most = larger(most, four[lane]);
        for (; k < size; ++k) {
            const double side = std::fabs(a[k] - b[k]);
            most = side > most ? side : most;
        }
        return most;
    }
    const auto term = [=](Index k) {
        const double side = std::fabs(a[k] - b[k]);
        return length == Length::euclidean ? side * side : side;
    };
    double terms[block];
    if (size == block) {  // of known size: the compiler keeps the sums in registers
        for (Index k = 0; k < block / 2; ++k) terms[k] = term(k) + term(k + block / 2);
        return sum_by_halves(terms, block / 2);
    }
    for (Index k = 0; k < size; ++k) terms[k] = term(k);
    return sum_by_halves(terms, size);
}

// The length of a - b, of `euclidean` its square.
template <Length length>
double raw_length(const double* a, const double* b, Index dim) {
    double total = 0;
    double lost = 0;
    for (Index start = 0; start < dim; start += block) {
        const Index size = smaller(block, dim - start);
        const double term = of_block<length>(a + start, b + start, size);
        if (length == Length::largest) {
            total = larger(total, term);
        } else {
            const Sum2 s = two_sum(total, term);
            total = s.hi;
            lost += s.lo;
        }
    }
    return total + lost;
}

inline double squared_distance(const double* a, const double* b, Index dim) {
    return raw_length<Length::euclidean>(a, b, dim);
}

template <Length length>
double length_of(const double* a, const double* b, Index dim) {
    const double raw = raw_length<length>(a, b, dim);
    return length == Length::euclidean ? std::sqrt(raw) : raw;
}

// Whether the length of p - q is at least `least`, up to rounding: a few terms often
// decide it.
template <Length length>
bool reaches(const double* p, const double* q, Index dim, double least) {
    const double limit = length == Length::euclidean ? least * least : least;
    double reached = 0;
    for (Index start = 0; start < dim; start += block) {
        const Index size = smaller(block, dim - start);
        const double part = of_block<length>(p + start, q + start, size);
        reached = length == Length::largest ? larger(reached, part) : reached + part;
        if (reached >= limit) return true;
    }
    return false;
}

// What bounds distances between anchors: their box, their distances from one centre, and
// their codes.
struct Bounds {
    const double* low;
    const double* high;
    const double* spreads;
    const std::uint8_t* codes;  // (count, width)
    Index width;                // whole groups; codes beyond the coordinates are equal
    const double* lost;
    double step;
};

// --- lengths of differences by their codes

// The length of a difference of so many codes, whole groups of them; of `euclidean` its
// square.
template <Length length>
RSB_INLINE std::int32_t code_length(const std::uint8_t* a, const std::uint8_t* b,
                                    Index size) {
    size -= size % group;  // which it is: no rest is left to the compiler
    if (length == Length::largest) {
        std::uint8_t most = 0;
        for (Index k = 0; k < size; ++k)
            most = larger(most, std::uint8_t(larger(a[k], b[k]) - smaller(a[k], b[k])));
        return most;
    }
    std::int32_t total = 0;
#ifdef __AVX2__  // the compiler takes half as long again for squares
    if (length == Length::euclidean) {
        __m256i sums = {};
        for (Index k = 0; k < size; k += group) {
            __m256i p;
            __m256i q;
            std::memcpy(&p, a + k, sizeof p);
            std::memcpy(&q, b + k, sizeof q);
            const __m256i side = _mm256_sub_epi8(_mm256_max_epu8(p, q), _mm256_min_epu8(p, q));
            const __m256i some = _mm256_unpacklo_epi8(side, __m256i{});
            const __m256i others = _mm256_unpackhi_epi8(side, __m256i{});
            sums = _mm256_add_epi32(sums, _mm256_madd_epi16(some, some));
            sums = _mm256_add_epi32(sums, _mm256_madd_epi16(others, others));
        }
        std::int32_t parts[8];
        std::memcpy(parts, &sums, sizeof parts);
        for (const std::int32_t part : parts) total += part;
        return total;
    }
#endif
    for (Index k = 0; k < size; ++k) {
        const int side = int(a[k]) - int(b[k]);
        total += length == Length::euclidean ? side * side : std::abs(side);
    }
    return total;
}

// The length of the difference of two anchors' codes, of `euclidean` its square.
template <Length length>
std::int64_t raw_steps(const Bounds& of, Index i, Index j) {
    const std::uint8_t* a = of.codes + i * of.width;
    const std::uint8_t* b = of.codes + j * of.width;
    std::int64_t total = 0;
    for (Index start = 0; start < of.width; start += most_codes) {
        const Index size = smaller(most_codes, of.width - start);
        const std::int64_t part = code_length<length>(a + start, b + start, size);
        total = length == Length::largest ? larger(total, part) : total + part;
    }
    return total;
}

// An upper bound of |x_i - x_j|_*.
template <Length length>
double coded_reach(const Bounds& of, Index i, Index j) {
    const double raw = double(raw_steps<length>(of, i, j));
    const double steps = length == Length::euclidean ? std::sqrt(raw) : raw;
    return (of.step * steps + of.lost[i] + of.lost[j]) * (1 + 8 * eps);
}

// Has the codes of an anchor on their way when they are needed.
inline void fetch(const Bounds& of, Index i) {
    for (Index k = 0; k < of.width; k += 64)
        __builtin_prefetch(of.codes + i * of.width + k);
}

// Where |x_i - x_j|_* lies: at `least` or above, below it, or too near for codes to tell.
enum class Side { above, below, unknown };

// What the codes of i and j tell. `hot` is the chunk that told last: it comes first, as
// the coordinate in which one pair is far apart is often another pair's too.
template <Length length>
Side coded_side(const Memory& anchors, const Bounds& of, Index i, Index j, double least,
                Index& hot) {
    const double lost = of.lost[i] + of.lost[j];
    const double most = (least + lost) / of.step * (1 + 8 * eps);
    const double limit = length == Length::euclidean ? most * most : most;
    const std::uint8_t* a = of.codes + i * of.width;
    const std::uint8_t* b = of.codes + j * of.width;
    const auto part = [=](Index start, Index size) {
        return std::int64_t(code_length<length>(a + start, b + start,
                                                smaller(size, of.width - start)));
    };
    if (length == Length::largest && double(part(hot, hot_codes)) >= limit)
        return Side::above;
    std::int64_t total = 0;
    for (Index start = 0; start < of.width; start += chunk) {
        const std::int64_t more = part(start, chunk);
        total = length == Length::largest ? larger(total, more) : total + more;
        if (!(double(total) >= limit)) continue;
        if (length == Length::largest)
            for (hot = start; double(part(hot, hot_codes)) < limit;) hot += hot_codes;
        return Side::above;
    }
    const double steps =
        length == Length::euclidean ? std::sqrt(double(total)) : double(total);
    if ((of.step * steps + lost) * (1 + 8 * eps) < least) return Side::below;
    if (length != Length::largest) return Side::unknown;
    // only in coordinates whose codes are about as far apart can they be
    const double* p = anchors.point(i);
    const double* q = anchors.point(j);
    for (Index start = 0; start < anchors.dim; start += group) {
        const double furthest = double(part(start, group));
        if ((of.step * furthest + lost) * (1 + 8 * eps) < least) continue;
        const Index stop = smaller(start + group, anchors.dim);
        for (Index k = start; k < stop; ++k)
            if (std::fabs(p[k] - q[k]) >= least) return Side::above;
    }
    return Side::below;
}

// Whether |x_i - x_j|_* is at least `least`, up to rounding; their codes often decide it.
template <Length length>
bool apart(const Memory& anchors, const Bounds& of, Index i, Index j, double least,
           Index& hot) {
    const Side side = coded_side<length>(anchors, of, i, j, least, hot);
    if (side != Side::unknown) return side == Side::above;
    return reaches<length>(anchors.point(i), anchors.point(j), anchors.dim, least);
}

// --- margins: the distance to a bisector

// |x - q|^2 - |x - p|^2 within error |p - q| (|x - p| + |x - q|).
inline double bisector(const double* x, const double* p, const double* q, Index dim) {
    double total = 0;
    double lost = 0;
    double terms[block];
    for (Index start = 0; start < dim; start += block) {
        const Index size = smaller(block, dim - start);
        for (Index k = 0; k < size; ++k) {
            const double u = x[start + k];
            const double v = p[start + k];
            const double w = q[start + k];
            // from differences: 2 x - (p + q) would round at the size of x
            terms[k] = (v - w) * ((u - v) + (u - w));
        }
        const Sum2 s = two_sum(total, sum_by_halves(terms, size));
        total = s.hi;
        lost += s.lo;
    }
    return total + lost;
}

// The same in doubled precision, for near ties: within 4 ((d + 8) eps/2)^2.
inline double sharp_bisector(const double* x, const double* p, const double* q,
                             Index dim) {
    double total = 0;
    double rest = 0;
    for (Index k = 0; k < dim; ++k) {
        const Sum2 side = two_sum(p[k], -q[k]);
        const Sum2 to_p = two_sum(x[k], -p[k]);
        const Sum2 to_q = two_sum(x[k], -q[k]);
        Sum2 both = two_sum(to_p.hi, to_q.hi);
        both.lo += to_p.lo + to_q.lo;
        const Sum2 term = two_prod(side.hi, both.hi);
        const Sum2 s = two_sum(total, term.hi);
        total = s.hi;
        rest += s.lo + (term.lo + (side.hi * both.lo + side.lo * both.hi));
    }
    return total + rest;
}

struct Margin {
    double lower, upper;
};

// Bounds of (|x - q|^2 - |x - p|^2)/(2 |p - q|_*), the lower not below 0.
template <Length length>
Margin margin(const double* x, const double* p, const double* q, Index dim,
              bool sharp) {
    const double square = squared_distance(p, q, dim);
    // coincident, or too close for squares to keep their digits
    if (!(square > 1e-280)) return {0, 0};
    const double distance = std::sqrt(square);
    const double reach =
        std::sqrt(squared_distance(x, p, dim)) + std::sqrt(squared_distance(x, q, dim));
    const double rounding = (dim + 8) * eps / 2;
    const double gap = sharp ? sharp_bisector(x, p, q, dim) : bisector(x, p, q, dim);
    const double share = sharp ? 4 * (rounding * rounding) : 2 * error;
    const double off = share * distance * reach;
    const double twice =
        2 * (length == Length::euclidean ? distance : length_of<length>(p, q, dim));
    return {larger((gap - off) / twice * (1 - 2 * error), 0.0), (gap + off) / twice};
}

// --- the anchors that may count, by their dot products

struct Nearest {
    Index index;
    double square;
};

// The nearest anchor (the first of equals) and its squared distance.
inline Nearest nearest(const Row& row) {
    const Index dim = row.anchors.dim;
    const Index blocks = (row.anchors.count + block - 1) / block;
    double least = infinite;
    for (Index b = 0; b < blocks; ++b) least = smaller(least, row.minima[b]);
    // every anchor that may be nearest
    const double limit = least + row.slack;
    Nearest best{0, infinite};
    row.each_near([=] { return limit; }, [&](Index j, double) {
        const double* point = row.anchors.point(j);
        const double square = squared_distance(row.x, point, dim);
        bool nearer = square < best.square * (1 - 4 * error);
        // a tie up to rounding: the first anchor stays, unless it is further
        if (!nearer && square <= best.square * (1 + 4 * error)) {
            const double* first = row.anchors.point(best.index);
            nearer = sharp_bisector(row.x, first, point, dim) < 0;
        }
        if (nearer) best = {j, square};
    });
    return best;
}

// An anchor and its value.
struct Near {
    Index anchor;
    double value;
};
using Guards = std::vector<Near>;

// The anchors of another label with the least values, `seeds` of them at most.
inline std::vector<Near> nearest_rivals(const Row& row, Index own) {
    std::vector<Near> found;
    double limit = infinite;
    const auto keep = [&](Index j, double v) {
        if (!(v < limit)) return;
        if (found.size() == seeds) found.pop_back();
        std::size_t at = found.size();
        while (at > 0 && found[at - 1].value > v) --at;
        found.insert(found.begin() + std::ptrdiff_t(at), {j, v});
        if (found.size() == seeds) limit = found.back().value;
    };
    row.each_near<Which::other>([&] { return limit; }, keep, own);
    return found;
}

// `first`, and the anchors of its label whose value is below the limit, the nearest
// before the others.
template <Length length>
void collect_guards(const Row& row, Index first, double limit, Guards& guards) {
    const Index own = row.anchors.labels[first];
    guards.clear();
    guards.push_back({first, row.value(first)});
    const auto keep = [&](Index j, double v) {
        if (v < limit && j != first) guards.push_back({j, v});
    };
    row.each_near<Which::same>([=] { return limit; }, keep, own);
    const auto begin = guards.begin() + 1;
    const auto middle = begin + smaller(sorted<length>, guards.end() - begin);
    std::partial_sort(begin, middle, guards.end(), [](const Near& a, const Near& b) {
        return a.value < b.value;
    });
}

// About the largest margin against a rival over the first guards.
template <Length length>
double rough_margin(const Bounds& bounds, const Near& rival, const Guards& guards) {
    double most = -infinite;
    const std::size_t asked = smaller(first_guards, guards.size());
    for (std::size_t i = 0; i < asked; ++i) {
        const double gap = rival.value - guards[i].value;
        const double reach = coded_reach<length>(bounds, guards[i].anchor, rival.anchor);
        most = larger(most, gap / reach);
    }
    return most;
}

// The largest margin against the rival q over the guards nearer than it. `above - value`
// is an upper bound of what squared distances gain from guard to rival. Stops once the
// margin reaches `limit`. The guard that gives it moves to the front: it is often the
// best one against the next rival too. A guard left out because of rounding can only
// make the radius smaller, by as much.
template <Length length>
double best_margin(const Row& row, const Bounds& bounds, Index q, Guards& guards,
                   double above, double limit) {
    const Memory& anchors = row.anchors;
    const double* rival = anchors.point(q);
    double best = 0;
    std::size_t winner = 0;
    Index hot = 0;
    for (std::size_t i = 0; i < guards.size() && best < limit; ++i) {
        const double* guard = anchors.point(guards[i].anchor);
        const double gain = above - guards[i].value;
        if (i + 4 < guards.size()) fetch(bounds, guards[i + 4].anchor);
        if (gain < 0) continue;  // no guard: it is further than the rival
        // so far from the rival that its margin is not above the best
        if (best > 0 &&
            apart<length>(anchors, bounds, guards[i].anchor, q, gain / (2 * best), hot))
            continue;
        Margin m = margin<length>(row.x, guard, rival, anchors.dim, false);
        // near a bisector most digits of the margin cancel: only then is it worth twice
        // the precision, and only where it can still change the best
        if (m.lower < limit && m.upper > best && m.upper - m.lower > 5e-12 * m.upper)
            m = margin<length>(row.x, guard, rival, anchors.dim, true);
        if (m.lower > best) {
            best = m.lower;
            winner = i;
        }
    }
    std::swap(guards[0], guards[winner]);
    return best;
}

// Whether some guard's margin against the rival q is at least `limit`. It moves ahead: it
// may be one against other rivals too. Codes of the first guards are asked before any
// coordinates, which few of them take from memory.
template <Length length>
bool guarded(const Row& row, const Bounds& bounds, Index q, Guards& guards,
             double limit) {
    const double below = row.value(q) - row.slack;
    Index hot = 0;
    const std::size_t few =  // of `largest` codes leave nothing open
        length == Length::largest ? 0 : smaller(first_guards, guards.size());
    for (const bool exact : {false, true}) {
        const std::size_t asked = exact ? guards.size() : few;
        for (std::size_t i = 0; i < asked; ++i) {
            const Index guard = guards[i].anchor;
            if (i >= first_guards && i + 4 < asked) fetch(bounds, guards[i + 4].anchor);
            const double least =
                (below - guards[i].value) * half / limit * (1 - 8 * error);
            if (!(least > 0)) continue;
            const Side side =
                coded_side<length>(row.anchors, bounds, guard, q, least, hot);
            if (side == Side::above) continue;
            if (side == Side::unknown &&
                (!exact || reaches<length>(row.anchors.point(guard),
                                           row.anchors.point(q), row.anchors.dim,
                                           least)))
                continue;
            std::swap(guards[i], guards[i / 2]);
            return true;
        }
    }
    return false;
}

// --- radii

// What a row starts from. `best` is the margin of `guard` against `rival`. No rival whose
// value is `limit` or more has a margin below `best`; its squared distance exceeds the
// nearest anchor's by its value less `floor` at least.
struct Start {
    Index nearest, guard, rival;
    double best, floor, limit;
};

// A rival that may lower the margin of a row: none against it is below its ratio.
struct Rival {
    Index anchor;
    double ratio;
};
using Rivals = std::vector<Rival>;

// The squared distance from which no rival can have a margin below `best`:
// (rho_j^2 - rho_i^2)/(2 |x_i - x_j|_*) is at least (rho_j^2 - rho_i^2)/(2 reach) and, as
// |x_i - x_j|_* <= stretch (rho_i + rho_j), at least (rho_j - rho_i)/(2 stretch).
inline double threshold(double square, double reach, double stretch, double best) {
    const double by_box = square + 2 * reach * best;
    const double root = std::sqrt(square) + 2 * stretch * best;
    return smaller(by_box, root * root) * (1 + 1e-12);
}

template <Length length>
Start begin(const Row& row, const Bounds& bounds, bool tight, Guards& guards) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    Start start{0, 0, 0, nan, 0, -infinite};
    if (!(row.slack < infinite)) return start;  // x has NaN
    const Memory& anchors = row.anchors;
    const Nearest near = nearest(row);
    start.nearest = start.guard = near.index;
    start.best = infinite;
    const std::vector<Near> rivals = nearest_rivals(row, anchors.labels[near.index]);
    if (rivals.empty()) return start;
    // Every anchor of the label that is nearer than a rival guards against it, and the
    // largest of their margins counts; the nearest anchor alone is a bound too.
    const double within = tight ? rivals.back().value + row.slack : -infinite;
    collect_guards<length>(row, near.index, within, guards);
    Near first = rivals[0];
    double least = infinite;
    for (const Near& rival : rivals) {
        const double rough = rough_margin<length>(bounds, rival, guards);
        if (rough < least) {
            least = rough;
            first = rival;
        }
    }
    start.best = best_margin<length>(row, bounds, first.anchor, guards,
                                     first.value + row.slack, infinite);
    start.guard = guards[0].anchor;
    start.rival = first.anchor;
    // less than |x|^2, so that products give less than distances
    double size = 0;
    for (Index k = 0; k < anchors.dim; ++k) size += row.x[k] * row.x[k];
    const double shift = size - row.slack;
    // the corner of the box that is furthest from the nearest anchor
    const double* own = anchors.point(near.index);
    Numbers corner(anchors.dim);
    for (Index k = 0; k < anchors.dim; ++k) {
        const bool above = bounds.high[k] - own[k] > own[k] - bounds.low[k];
        corner[k] = above ? bounds.high[k] : bounds.low[k];
    }
    const double reach =
        length_of<length>(own, corner, anchors.dim) * (1 + 4 * error);
    const double stretch =
        length == Length::sum ? std::sqrt(double(anchors.dim)) : 1;
    start.floor = near.square * (1 + 2 * error) - shift;
    start.limit = threshold(near.square, reach, stretch, start.best) - shift;
    return start;
}

// The rivals of each row whose margin may be below its best, tile by tile, so that the
// codes of a tile stay in cache while all rows are held against it.
template <Length length>
std::vector<Rivals> sift(const Products& products, const Memory& anchors,
                         const Bounds& bounds, const std::vector<Start>& starts) {
    std::vector<Rivals> found(starts.size());
    Index left[tile];
    for (Index from = 0; from < anchors.count; from += tile) {
        const Index stop = smaller(from + tile, anchors.count);
        for (Index r = 0; r < products.rows; ++r) {
            const Row row(anchors, products, r);
            const Start& start = starts[std::size_t(r)];
            double least = infinite;
            for (Index b = from / block; b <= (stop - 1) / block; ++b)
                least = smaller(least, row.minima[b]);
            if (!(least < start.limit)) continue;  // no rival in the tile
            const Index own = anchors.labels[start.nearest];
            const double spread = bounds.spreads[start.nearest];
            const double limit = start.limit;
            const double floor = start.floor;
            const double best = start.best;
            Index count = 0;
            for (Index j = from; j < stop; ++j) {
                const double v = row.value(j);
                const double most = best * (spread + bounds.spreads[j]);
                left[count] = j;
                count += (v < limit) & ((v - floor) * half < most) &
                         (anchors.labels[j] != own) & (j != start.rival);
            }
            for (Index n = 0; n < count; ++n) {
                const Index j = left[n];
                const double gap = (row.value(j) - floor) * half;
                const double reach = smaller(
                    spread + bounds.spreads[j],
                    coded_reach<length>(bounds, start.nearest, j));
                if (gap < best * reach)
                    found[std::size_t(r)].push_back({j, gap / reach * (1 - 4 * eps)});
            }
        }
    }
    return found;
}

// Lowers the best of a row to the least margin over its rivals, the cheapest first.
template <Length length>
void refine(const Row& row, const Bounds& bounds, bool tight, Start& start,
            Rivals& rivals, Guards& guards) {
    if (rivals.empty()) return;
    const auto middle =
        rivals.begin() + smaller(sorted<length>, rivals.end() - rivals.begin());
    std::partial_sort(rivals.begin(), middle, rivals.end(),
                      [](const Rival& a, const Rival& b) { return a.ratio < b.ratio; });
    // the guards are the same for all rivals
    const double limit = tight ? start.limit + row.slack : -infinite;
    collect_guards<length>(row, start.guard, limit, guards);
    for (const Rival& rival : rivals) {
        if (&rivals.back() - &rival > 3) fetch(bounds, (&rival)[4].anchor);
        // the ratio was kept under an older, larger best
        if (rival.ratio >= start.best) continue;
        if (guarded<length>(row, bounds, rival.anchor, guards, start.best))
            continue;
        const double above = row.value(rival.anchor) + row.slack;
        const double m = best_margin<length>(row, bounds, rival.anchor, guards, above,
                                             start.best);
        start.best = smaller(m, start.best);
    }
}

// The radius of each row, NaN where x has NaN and inf without a rival, and its nearest
// anchor.
template <Length length>
void radii(const Products& products, const Memory& anchors, const Bounds& bounds,
           bool tight, double* radius, Index* nearest_anchor) {
    Guards guards;
    std::vector<Start> starts;
    starts.reserve(std::size_t(products.rows));
    for (Index r = 0; r < products.rows; ++r)
        starts.push_back(
            begin<length>(Row(anchors, products, r), bounds, tight, guards));
    std::vector<Rivals> rivals =
        sift<length>(products, anchors, bounds, starts);
    for (Index r = 0; r < products.rows; ++r) {
        Start& start = starts[std::size_t(r)];
        refine<length>(Row(anchors, products, r), bounds, tight, start,
                       rivals[std::size_t(r)], guards);
        radius[r] = start.best;
        nearest_anchor[r] = start.nearest;
    }
}

// --- what is measured once of the anchors

// The least, the largest and the sum of each coordinate; a sum is NaN where some point
// has NaN.
inline void box(const Memory& anchors, double* __restrict low, double* __restrict high,
                double* __restrict sums) {
    for (Index k = 0; k < anchors.dim; ++k) {
        low[k] = infinite;
        high[k] = -infinite;
        sums[k] = 0;
    }
    for (Index i = 0; i < anchors.count; ++i) {
        const double* const point = anchors.point(i);
        for (Index k = 0; k < anchors.dim; ++k) {
            const double v = point[k];
            low[k] = v < low[k] ? v : low[k];
            high[k] = v > high[k] ? v : high[k];
            sums[k] += v;
        }
    }
}

// A byte for each coordinate, the length of what they lose of each point, and upper
// bounds of the length of p - centre: two points are at most the sum of theirs apart.
template <Length length>
void encode(const Memory& anchors, const double* low, const double* centre, double step,
            std::uint8_t* codes, Index width, double* lost, double* spreads) {
    double sides[block];
    const double none[block] = {};
    const double steps_per_unit = 1 / step;
    for (Index i = 0; i < anchors.count; ++i) {
        const double* point = anchors.point(i);
        std::uint8_t* row = codes + i * width;
        std::memset(row + anchors.dim, 0, std::size_t(width - anchors.dim));
        double total = 0;
        for (Index start = 0; start < anchors.dim; start += block) {
            const Index size = smaller(block, anchors.dim - start);
            for (Index k = 0; k < size; ++k) {
                const double side = point[start + k] - low[start + k];
                // whichever code is near: what it loses is measured
                const std::int32_t code(smaller(side * steps_per_unit, 255.0) + 0.5);
                row[start + k] = std::uint8_t(code);
                sides[k] = side - step * code;
            }
            const double part = of_block<length>(sides, none, size);
            total = length == Length::largest ? larger(total, part) : total + part;
        }
        lost[i] = length == Length::euclidean ? std::sqrt(total) : total;
        spreads[i] = length_of<length>(point, centre, anchors.dim) * (1 + 4 * error);
    }
}

// The least value in each block of anchors, for each row.
inline void block_minima(const double* dots, const double* squares, Index rows,
                         Index count, double* minima) {
    for (Index r = 0; r < rows; ++r, dots += count) {
        for (Index start = 0; start < count; start += block) {
            const Index stop = smaller(start + block, count);
            double least = infinite;
            Index j = start;
            vec four = {infinite, infinite, infinite, infinite};
            for (; j + lanes <= stop; j += lanes) {
                vec square;
                vec dot;
                std::memcpy(&square, squares + j, sizeof square);
                std::memcpy(&dot, dots + j, sizeof dot);
                const vec v = square - 2 * dot;
                four = v < four ? v : four;
            }
            for (int lane = 0; lane < lanes; ++lane) least = smaller(least, four[lane]);
            for (; j < stop; ++j) {
                const double v = squares[j] - 2 * dots[j];
                least = v < least ? v : least;
            }
            *minima++ = least;
        }
    }
}

// --- the k nearest

// The k least of many values: a heap with the largest of them in front.
class Least {
    Numbers heap;
    const Index size;

  public:
    explicit Least(Index k) : heap(k), size(k) {}
    void clear() {
        for (Index i = 0; i < size; ++i) heap[i] = infinite;
    }
    double largest() { return heap[0]; }
    // puts `value` in the place of the largest, if it is smaller
    void keep(double value) {
        if (!(value < heap[0])) return;
        Index hole = 0;
        for (Index child = 1; child < size; child = 2 * hole + 1) {
            if (child + 1 < size && heap[child + 1] > heap[child]) ++child;
            if (heap[child] <= value) break;
            heap[hole] = heap[child];
            hole = child;
        }
        heap[hole] = value;
    }
    double mean_root() {
        double total = 0;
        for (Index i = 0; i < size; ++i) total += std::sqrt(heap[i]);
        return total / double(size);
    }
};

// The mean distance of each row to its k nearest anchors, NaN where x has NaN. Row r
// leaves out anchor skip + r, unless skip is -1.
inline void knn_means(const Products& products, const Memory& anchors, Index k,
                      Index skip, double* out) {
    Least rough(k);
    Least exact(k);
    for (Index r = 0; r < products.rows; ++r) {
        const Row row(anchors, products, r);
        out[r] = std::numeric_limits<double>::quiet_NaN();
        if (!(row.slack < infinite)) continue;
        const Index left_out = skip >= 0 ? skip + r : -1;
        rough.clear();
        row.each_near([&] { return rough.largest(); }, [&](Index j, double v) {
            if (j != left_out) rough.keep(v);
        });
        const double limit = rough.largest() + row.slack;
        exact.clear();
        row.each_near([=] { return limit; }, [&](Index j, double) {
            if (j != left_out)
                exact.keep(squared_distance(row.x, anchors.point(j), anchors.dim));
        });
        out[r] = exact.mean_root();
    }
}

}  // namespace rsb::anchors
