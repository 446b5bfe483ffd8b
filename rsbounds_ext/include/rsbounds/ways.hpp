// Whether events stay likely in every way to make some changes, from the laws of each
// kind of changes alone: the regions of several kinds are never put in order.
//
// With masses P and Q of regions at x and at x', and for every t >= 0, an event that
// lacks at most q at x has at x' at least sum min(Q, t P) - t q (the theory page on
// discrete noise, "What is proved again"). That is the line F + t (S - q), with F the
// sum of the Q of regions whose ratio Q/P is below t and S that of the P of the others;
// the largest of these bounds is what the event has, and is at most where the lines of
// two t cross. So both bounds close in on it as the crossing is taken for the next t.
//
// Answers are yes and no where the bounds are `margin` beyond the edge, and unsure
// otherwise. rsbounds/discrete/_rows.py makes the rows, and has their error.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>
#include <vector>

namespace rsb::ways {

using Index = std::ptrdiff_t;

// Memory of a vector of plain numbers. Its name makes the vector's code one of this
// namespace: what two copies of it (module.cpp) name alike, the linker would merge.
template <class T>
struct Memory {
    using value_type = T;
    Memory() = default;
    template <class U>
    Memory(const Memory<U>&) {}
    T* allocate(std::size_t size) {
        return static_cast<T*>(::operator new(size * sizeof(T)));
    }
    void deallocate(T* place, std::size_t) { ::operator delete(place); }
    bool operator==(const Memory&) const { return true; }
    bool operator!=(const Memory&) const { return false; }
};
using Numbers = std::vector<std::int64_t, Memory<std::int64_t>>;
using Indices = std::vector<Index, Memory<Index>>;

enum Answer : std::int8_t { no = 0, yes = 1, unsure = 2 };

// The regions of some changes of one kind, by rising log(Q/P), with partial sums:
// `below[i]` of the Q before i, `above[i]` of the P from i on.
struct Row {
    const double *ratio = nullptr, *mass, *shifted, *below, *above;
    Index size;
};

struct Sums {
    double below, above;
};

// F and S at log t of the regions of rows 0 ... k together, the longest one first
inline Sums sums(const Row* rows, Index k, double log_t) {
    const Row& inner = rows[0];
    const auto place = [&](double ratio) {
        return std::lower_bound(inner.ratio, inner.ratio + inner.size, ratio) -
               inner.ratio;
    };
    if (k == 0) {
        const Index at = place(log_t);
        return {inner.below[at], inner.above[at]};
    }
    const Row& row = rows[k];
    Sums total{0, 0};
    // by rising ratios of this row those of the inner one fall
    Index at = k == 1 && row.size ? place(log_t - row.ratio[0]) : 0;
    for (Index i = 0; i < row.size; ++i) {
        const double rest = log_t - row.ratio[i];
        Sums part;
        if (k == 1) {
            while (at > 0 && inner.ratio[at - 1] >= rest) --at;
            part = {inner.below[at], inner.above[at]};
        } else {
            part = sums(rows, k - 1, rest);
        }
        total.below += row.shifted[i] * part.below;
        total.above += row.mass[i] * part.above;
    }
    return total;
}

// Bounds of what an event that lacks at most q has at x'
class Event {
public:
    double least = 0, most = 1;

    // What is sure, or nearly, has what x produces with chances that no double holds:
    // there is no upper bound
    explicit Event(double lacks) : q(lacks), besides(lacks > 1e-250 ? 0 : 1) {}

    // for other regions, from the t that was best for those before
    void begin() {
        low = {0, 1 - q};
        high = {1, -q};
        least = 0;
        most = 1 - q + besides;
    }

    double gap() const { return most - besides - least; }

    void refine(const Row* rows, Index k) {
        const Sums at = sums(rows, k, std::log(t));
        const Line line{at.below, at.above - q};
        const double value = line.start + t * line.slope;
        if (value > least) {
            least = value;
            best = t;
        }
        (line.slope > 0 ? low : high) = line;
        t = (high.start - low.start) / (low.slope - high.slope);
        most = low.start + t * low.slope + besides;
        if (!(t > 0)) t = best;
    }

    void keep() { t = best; }

private:
    struct Line {
        double start, slope;
    };

    double q, besides, t = 1, best = 1;
    Line low{0, 1}, high{1, 0};
};

// What the top class lacks at most, and what all that is not another class does; alone:
// the top class twice
struct Question {
    double top, rest;

    bool easier(const Question& other) const {
        return top <= other.top && rest <= other.rest;
    }
};

// Every way to make some changes, as rsbounds/discrete/_ways.py has them
struct Ways {
    Numbers fixed;
    struct Group {
        std::int64_t total;
        Indices kinds;
    };
    std::vector<Group> groups;
};

// `rows(kind, changes)` has the law of some changes of one kind.
template <class Rows>
class Search {
public:
    // `hint`: where ways that failed before lie between none and all of a total
    Search(Rows& laws, const Ways& all, bool alone, double room, double* failed)
        : law(laws), ways(all), one(alone), margin(room), hint(failed) {
        for (const Ways::Group& group : ways.groups)
            for (std::size_t i = 0; i + 1 < group.kinds.size(); ++i) {
                ends.push_back(group.total);
                places.push_back(group.kinds[i]);
            }
        rows.resize(ways.fixed.size());
    }

    // Boxes of ways are looked at by the changes that contain all of a box, which is
    // halved where these are not sure to hold; one way alone decides.
    Answer operator()(const Question& question) {
        // What the top class keeps and what the others gain may both be below the margin:
        // of many ways it would take long to find one for which that is so.
        const bool small = !one && std::min(question.top, question.rest) < 8 * margin;
        if (small && !ends.empty()) return unsure;
        Event top(question.top), rest(question.rest);
        Answer result = yes;
        std::vector<Box> stack{{Numbers(ends.size()), ends}};
        Numbers counts;
        while (!stack.empty()) {
            Box box = std::move(stack.back());
            stack.pop_back();
            if (!largest(box, counts)) continue;
            const bool single = box.least == box.most;
            const Answer answer = look(counts, top, rest, single);
            if (answer == yes) continue;
            if (single) {
                if (answer == unsure) {
                    result = unsure;
                    continue;
                }
                for (std::size_t i = 0; i < ends.size(); ++i)
                    if (ends[i])
                        hint[places[i]] = double(box.least[i]) / double(ends[i]);
                return no;
            }
            std::size_t widest = 0;
            for (std::size_t i = 1; i < ends.size(); ++i)
                if (box.most[i] - box.least[i] > box.most[widest] - box.least[widest])
                    widest = i;
            const std::int64_t middle = (box.least[widest] + box.most[widest]) / 2;
            Box upper = box;
            box.most[widest] = middle;
            upper.least[widest] = middle + 1;
            // the half where a way failed before comes first
            if (hint[places[widest]] * double(ends[widest]) > double(middle))
                std::swap(box, upper);
            stack.push_back(std::move(upper));
            stack.push_back(std::move(box));
        }
        return result;
    }

private:
    struct Box {
        Numbers least, most;
    };

    // The changes that contain all ways of a box; false: there are none
    bool largest(const Box& box, Numbers& counts) const {
        counts = ways.fixed;
        std::size_t start = 0;
        for (const Ways::Group& group : ways.groups) {
            const std::size_t number = group.kinds.size() - 1;
            std::int64_t left = group.total;
            for (std::size_t i = 0; i < number; ++i) left -= box.least[start + i];
            if (left < 0) return false;
            for (std::size_t i = 0; i < number; ++i)
                counts[group.kinds[i]] +=
                    std::min(box.most[start + i], box.least[start + i] + left);
            counts[group.kinds[number]] += left;
            start += number;
        }
        return true;
    }

    // Whether changes are sure to leave the class; a no is sure where `decides`
    Answer look(const Numbers& counts, Event& top, Event& rest,
                bool decides) {
        Index number = 0;
        for (std::size_t kind = 0; kind < counts.size(); ++kind)
            if (counts[kind]) rows[number++] = law(kind, counts[kind]);
        if (!number) rows[number++] = law(0, 0);
        std::sort(rows.begin(), rows.begin() + number,
                  [](const Row& a, const Row& b) { return a.size > b.size; });
        const double edge = one ? 0.5 : 1.0;
        top.begin();
        rest.begin();
        if (one) rest.least = rest.most = 0;
        Answer answer = unsure;
        for (int step = 0; step < 100; ++step) {
            const double most = top.most + rest.most;
            if (most < (decides ? edge - margin : edge + margin)) {
                answer = no;
                break;
            }
            const double wide = top.gap(), other = one ? 0 : rest.gap();
            if (std::max(wide, other) < margin / 8) break;
            (wide >= other ? top : rest).refine(rows.data(), number - 1);
            if (top.least + rest.least > edge + margin) {
                answer = yes;
                break;
            }
        }
        top.keep();
        rest.keep();
        return answer;
    }

    Rows& law;
    const Ways& ways;
    const bool one;
    const double margin;
    double* const hint;
    Numbers ends;
    Indices places;
    std::vector<Row> rows;
};

// The answers to questions, each of which may follow from another's: halves of halves
// of them first, as few follow from their neighbours. `next` says whether to go on.
template <class Rows, class F>
bool answer(Search<Rows>& search, const std::vector<Question>& questions, std::int8_t* answers,
            F next) {
    const Index size = static_cast<Index>(questions.size());
    Indices decided;
    Index step = 1;
    while (step < size) step *= 2;
    for (; step >= 1; step /= 2)
        for (Index i = step - 1; i < size; i += 2 * step) {
            answers[i] = unsure;
            for (const Index other : decided)
                if (answers[other] == yes ? questions[i].easier(questions[other])
                                          : questions[other].easier(questions[i])) {
                    answers[i] = answers[other];
                    break;
                }
            if (answers[i] != unsure) continue;
            if (!next()) return false;
            answers[i] = search(questions[i]);
            if (answers[i] != unsure) decided.push_back(i);
        }
    return true;
}

}  // namespace rsb::ways
