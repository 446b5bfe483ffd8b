// Functions of NumPy arrays: the scans of rsbounds/anchors.hpp and the copies of
// rsbounds/copies.hpp, which release the GIL, and the ends of events by
// rsbounds/regions.hpp.
#pragma once

#include <new>

#include "module.hpp"
#include "rsbounds/anchors.hpp"
#include "rsbounds/copies.hpp"
#include "rsbounds/regions.hpp"
#include "rsbounds/ways.hpp"

namespace rsb::scans {

using anchors::Index;
using anchors::Length;

// The numbers of a C-contiguous array of one type; null, with an exception set, for
// anything else.
template <class T>
T* numbers(PyObject* given, int type, const char* name) {
    if (PyArray_Check(given)) {
        auto* array = reinterpret_cast<PyArrayObject*>(given);
        if (PyArray_EquivTypenums(PyArray_TYPE(array), type) &&
            PyArray_IS_C_CONTIGUOUS(array) && PyArray_ISALIGNED(array))
            return static_cast<T*>(PyArray_DATA(array));
    }
    PyErr_Format(PyExc_TypeError, "%s must be a C-contiguous array of its type", name);
    return nullptr;
}

inline double* doubles(PyObject* given, const char* name) {
    return numbers<double>(given, NPY_DOUBLE, name);
}

inline Index length(PyObject* array, int axis) {
    return PyArray_DIM(reinterpret_cast<PyArrayObject*>(array), axis);
}

// f(length) for the dual of the norm 1, 2 or inf
template <class F>
void of_norm(double norm, F f) {
    if (norm == 1)
        f(std::integral_constant<Length, Length::largest>{});
    else if (norm == 2)
        f(std::integral_constant<Length, Length::euclidean>{});
    else
        f(std::integral_constant<Length, Length::sum>{});
}

// Runs f without the GIL: None, or an exception where memory is short.
template <class F>
PyObject* without_gil(F f) {
    bool good = true;
    PyThreadState* state = PyEval_SaveThread();
    try {
        f();
    } catch (const std::bad_alloc&) {
        good = false;
    }
    std::feclearexcept(FE_ALL_EXCEPT);
    PyEval_RestoreThread(state);
    if (!good) return PyErr_NoMemory();
    Py_RETURN_NONE;
}

inline bool take_points(PyObject* points, anchors::Memory& memory) {
    memory.points = doubles(points, "points");
    if (!memory.points) return false;
    memory.count = length(points, 0);
    memory.dim = length(points, 1);
    return true;
}

inline bool take_memory(PyObject* points, PyObject* squares, anchors::Memory& memory) {
    if (!take_points(points, memory)) return false;
    memory.squares = doubles(squares, "squares");
    return memory.squares != nullptr;
}

inline bool take_products(PyObject* x, PyObject* dots, PyObject* minima,
                          PyObject* slacks, anchors::Products& products) {
    products.x = doubles(x, "x");
    products.dots = products.x ? doubles(dots, "dots") : nullptr;
    products.minima = products.dots ? doubles(minima, "minima") : nullptr;
    products.slacks = products.minima ? doubles(slacks, "slacks") : nullptr;
    if (!products.slacks) return false;
    products.rows = length(x, 0);
    return true;
}

inline PyObject* block_minima(PyObject*, PyObject* arguments) {
    PyObject *dots, *squares, *minima;
    if (!PyArg_ParseTuple(arguments, "OOO", &dots, &squares, &minima)) return nullptr;
    const double* const products = doubles(dots, "dots");
    const double* const sizes = products ? doubles(squares, "squares") : nullptr;
    double* const out = sizes ? doubles(minima, "minima") : nullptr;
    if (!out) return nullptr;
    return without_gil([=, rows = length(dots, 0), count = length(squares, 0)] {
        anchors::block_minima(products, sizes, rows, count, out);
    });
}

inline PyObject* knn_means(PyObject*, PyObject* arguments) {
    PyObject *x, *dots, *minima, *slacks, *points, *squares, *out;
    Py_ssize_t k, skip;
    anchors::Products products;
    anchors::Memory memory{};
    if (!PyArg_ParseTuple(arguments, "OOOOOOnnO", &x, &dots, &minima, &slacks, &points,
                          &squares, &k, &skip, &out) ||
        !take_products(x, dots, minima, slacks, products) ||
        !take_memory(points, squares, memory))
        return nullptr;
    double* const means = doubles(out, "out");
    if (!means) return nullptr;
    return without_gil([&] { anchors::knn_means(products, memory, k, skip, means); });
}

inline PyObject* box(PyObject*, PyObject* arguments) {
    PyObject *points, *low, *high, *sums;
    anchors::Memory memory{};
    if (!PyArg_ParseTuple(arguments, "OOOO", &points, &low, &high, &sums) ||
        !take_points(points, memory))
        return nullptr;
    double* const least = doubles(low, "low");
    double* const most = least ? doubles(high, "high") : nullptr;
    double* const total = most ? doubles(sums, "sums") : nullptr;
    if (!total) return nullptr;
    return without_gil([&] { anchors::box(memory, least, most, total); });
}

inline PyObject* encode(PyObject*, PyObject* arguments) {
    PyObject *points, *low, *centre, *codes, *lost, *spreads;
    double step, norm;
    anchors::Memory memory{};
    if (!PyArg_ParseTuple(arguments, "OOOddOOO", &points, &low, &centre, &step, &norm,
                          &codes, &lost, &spreads) ||
        !take_points(points, memory))
        return nullptr;
    const double* const least = doubles(low, "low");
    const double* const middle = least ? doubles(centre, "centre") : nullptr;
    auto* const bytes =
        middle ? numbers<std::uint8_t>(codes, NPY_UINT8, "codes") : nullptr;
    double* const off = bytes ? doubles(lost, "lost") : nullptr;
    double* const far = off ? doubles(spreads, "spreads") : nullptr;
    if (!far) return nullptr;
    const Index width = length(codes, 1);
    return without_gil([&] {
        of_norm(norm, [&](auto length) {
            anchors::encode<decltype(length)::value>(memory, least, middle, step, bytes,
                                                     width, off, far);
        });
    });
}

inline PyObject* neighbour_radii(PyObject*, PyObject* arguments) {
    PyObject *x, *dots, *minima, *slacks, *points, *squares, *labels, *low, *high;
    PyObject *spread, *codes, *lost, *radii, *nearest;
    double step, norm;
    int tight;
    anchors::Products products;
    anchors::Memory memory{};
    anchors::Bounds bounds{};
    if (!PyArg_ParseTuple(arguments, "OOOOOOOOOOOOddpOO", &x, &dots, &minima, &slacks,
                          &points, &squares, &labels, &low, &high, &spread, &codes,
                          &lost, &step, &norm, &tight, &radii, &nearest) ||
        !take_products(x, dots, minima, slacks, products) ||
        !take_memory(points, squares, memory))
        return nullptr;
    memory.labels = numbers<Index>(labels, NPY_INT64, "labels");
    bounds.low = memory.labels ? doubles(low, "low") : nullptr;
    bounds.high = bounds.low ? doubles(high, "high") : nullptr;
    bounds.spreads = bounds.high ? doubles(spread, "spreads") : nullptr;
    if (!bounds.spreads) return nullptr;
    bounds.codes = numbers<std::uint8_t>(codes, NPY_UINT8, "codes");
    bounds.lost = bounds.codes ? doubles(lost, "lost") : nullptr;
    if (!bounds.lost) return nullptr;
    bounds.width = length(codes, 1);
    bounds.step = step;
    double* const out = doubles(radii, "radii");
    Index* const indices =
        out ? numbers<Index>(nearest, NPY_INT64, "nearest") : nullptr;
    if (!indices) return nullptr;
    return without_gil([&] {
        of_norm(norm, [&](auto length) {
            anchors::radii<decltype(length)::value>(products, memory, bounds, tight != 0,
                                                    out, indices);
        });
    });
}

// The regions of (before, after, shifted_before, shifted_after, error, lost, outside,
// changed): false with an exception set where they are none
inline bool take_regions(PyObject* given, regions::Regions& of) {
    PyObject* sums[4];
    if (!PyArg_ParseTuple(given, "OOOOdddp", sums, sums + 1, sums + 2, sums + 3,
                          &of.error, &of.lost, &of.outside, &of.changed))
        return false;
    const double** const corners[] = {&of.before, &of.after, &of.shifted_before,
                                      &of.shifted_after};
    for (int i = 0; i < 4; ++i)
        if (!(*corners[i] = doubles(sums[i], "sums"))) return false;
    of.size = length(sums[0], 0);
    return true;
}

inline PyObject* region_ends(PyObject*, PyObject* arguments) {
    PyObject *given, *p, *q, *least, *most;
    regions::Regions of{};
    if (!PyArg_ParseTuple(arguments, "O!OOOO", &PyTuple_Type, &given, &p, &q, &least,
                          &most) ||
        !take_regions(given, of))
        return nullptr;
    const double* const have = doubles(p, "p");
    const double* const lack = have ? doubles(q, "q") : nullptr;
    double* const low = lack ? doubles(least, "least") : nullptr;
    double* const high = low ? doubles(most, "most") : nullptr;
    if (!high) return nullptr;
    for (Index i = 0; i < length(p, 0); ++i) {
        const regions::Ends ends = regions::ends(of, have[i], lack[i]);
        low[i] = ends.least;
        high[i] = ends.most;
    }
    std::feclearexcept(FE_ALL_EXCEPT);
    Py_RETURN_NONE;
}

inline PyObject* region_holds(PyObject*, PyObject* arguments) {
    PyObject *given, *p, *q, *rest_p, *rest_q, *answers;
    regions::Regions of{};
    if (!PyArg_ParseTuple(arguments, "O!OOOOO", &PyTuple_Type, &given, &p, &q, &rest_p,
                          &rest_q, &answers) ||
        !take_regions(given, of))
        return nullptr;
    const bool alone = rest_p == Py_None;
    const double* const have = doubles(p, "p");
    const double* const lack = have ? doubles(q, "q") : nullptr;
    const double* const other = lack && !alone ? doubles(rest_p, "rest_p") : lack;
    const double* const less = other && !alone ? doubles(rest_q, "rest_q") : other;
    auto* const yes = less ? numbers<npy_bool>(answers, NPY_BOOL, "answers") : nullptr;
    if (!yes) return nullptr;
    for (Index i = 0; i < length(p, 0); ++i) {
        const regions::Ends top = regions::ends(of, have[i], lack[i]);
        yes[i] = alone ? regions::holds(top)
                       : regions::hold(top, regions::ends(of, other[i], less[i]));
    }
    std::feclearexcept(FE_ALL_EXCEPT);
    Py_RETURN_NONE;
}

// The numbers of a one-dimensional array of whole numbers
inline bool take_counts(PyObject* given, ways::Numbers& counts) {
    const auto* const first = numbers<std::int64_t>(given, NPY_INT64, "counts");
    if (!first) return false;
    counts.assign(first, first + length(given, 0));
    return true;
}

// Every way of (fixed, totals, lengths, kinds), the groups behind each other
inline bool take_ways(PyObject* given, ways::Ways& of) {
    PyObject *fixed, *totals, *lengths, *kinds;
    ways::Numbers total, size, kind;
    if (!PyArg_ParseTuple(given, "OOOO", &fixed, &totals, &lengths, &kinds) ||
        !take_counts(fixed, of.fixed) || !take_counts(totals, total) ||
        !take_counts(lengths, size) || !take_counts(kinds, kind))
        return false;
    auto next = kind.begin();
    for (std::size_t i = 0; i < total.size(); ++i) {
        of.groups.push_back({total[i], {next, next + size[i]}});
        next += size[i];
    }
    return true;
}

// Rows of each kind of changes, from a dictionary of those that are made, and a function
// that makes others and keeps them there
class WaysRows {
public:
    struct Failed {};  // with an exception set

    WaysRows(PyObject* laws, const ways::Ways& all) : given(laws) {
        ways::Numbers most = all.fixed;
        for (const auto& group : all.groups)
            for (const Index kind : group.kinds) most[kind] += group.total;
        for (const std::int64_t number : most) rows.emplace_back(number + 1);
    }

    const ways::Row& operator()(Index kind, std::int64_t changes) {
        ways::Row& row = rows[kind][changes];
        if (!row.ratio) row = taken(PyTuple_GET_ITEM(given, kind), changes);
        return row;
    }

private:
    static ways::Row taken(PyObject* law, std::int64_t changes) {
        PyObject *made, *make;
        if (!PyArg_ParseTuple(law, "O!O", &PyDict_Type, &made, &make)) throw Failed{};
        PyObject* const number = PyLong_FromLongLong(changes);
        if (!number) throw Failed{};
        PyObject* row = PyDict_GetItemWithError(made, number);
        if (!row && !PyErr_Occurred()) {
            row = PyObject_CallFunctionObjArgs(make, number, nullptr);
            Py_XDECREF(row);  // the dictionary has it
        }
        Py_DECREF(number);
        const double* const first = row ? doubles(row, "row") : nullptr;
        if (!first) throw Failed{};
        const Index width = length(row, 1);
        return {first,  first + width, first + 2 * width, first + 3 * width,
                first + 4 * width, width - 1};
    }

    PyObject* const given;
    std::vector<std::vector<ways::Row>> rows;
};

inline PyObject* ways_hold(PyObject*, PyObject* arguments) {
    PyObject *laws, *given, *top, *rest, *failed, *answers;
    double margin;
    ways::Ways all;
    if (!PyArg_ParseTuple(arguments, "O!O!OOdOO", &PyTuple_Type, &laws, &PyTuple_Type,
                          &given, &top, &rest, &margin, &failed, &answers) ||
        !take_ways(given, all))
        return nullptr;
    const bool alone = rest == Py_None;
    const double* const lack = doubles(top, "top");
    const double* const other = lack && !alone ? doubles(rest, "rest") : lack;
    double* const hint = other ? doubles(failed, "failed") : nullptr;
    auto* const out =
        hint ? numbers<std::int8_t>(answers, NPY_INT8, "answers") : nullptr;
    if (!out) return nullptr;
    std::vector<ways::Question> questions;
    for (Index i = 0; i < length(top, 0); ++i) questions.push_back({lack[i], other[i]});
    WaysRows rows(laws, all);
    ways::Search<WaysRows> search(rows, all, alone, margin, hint);
    bool whole = false;
    try {
        whole = ways::answer(search, questions, out,
                             [] { return PyErr_CheckSignals() == 0; });
    } catch (const WaysRows::Failed&) {
    }
    std::feclearexcept(FE_ALL_EXCEPT);
    if (!whole) return nullptr;
    Py_RETURN_NONE;
}

inline PyObject* noisy_copies(PyObject*, PyObject* arguments) {
    PyObject *draws, *x;
    double level;
    if (!PyArg_ParseTuple(arguments, "OdO", &draws, &level, &x)) return nullptr;
    float* const copies = numbers<float>(draws, NPY_FLOAT, "draws");
    if (!copies) return nullptr;
    const bool is_single = PyArray_Check(x) &&
                           PyArray_TYPE(reinterpret_cast<PyArrayObject*>(x)) == NPY_FLOAT;
    const float* const single = is_single ? numbers<float>(x, NPY_FLOAT, "x") : nullptr;
    const double* const wide = is_single ? nullptr : doubles(x, "x");
    if (!single && !wide) return nullptr;
    const Index all = PyArray_SIZE(reinterpret_cast<PyArrayObject*>(draws));
    const Index dim = PyArray_SIZE(reinterpret_cast<PyArrayObject*>(x));
    if (!dim || all % dim) {
        PyErr_SetString(PyExc_ValueError, "draws must be whole ones of x");
        return nullptr;
    }
    return without_gil([=] {
        if (single)
            copies::noisy_copies(copies, all / dim, dim, level, single);
        else
            copies::noisy_copies(copies, all / dim, dim, level, wide);
    });
}

static PyMethodDef methods[] = {
    {"ways_hold", ways_hold, METH_VARARGS,
     "ways_hold(laws, ways, top, rest, margin, failed, answers): fills the last two; "
     "rest may be None"},
    {"noisy_copies", noisy_copies, METH_VARARGS,
     "noisy_copies(draws, level, x): puts x + level z in the place of draws z"},
    {"region_ends", region_ends, METH_VARARGS,
     "region_ends(regions, p, q, least, most): fills the last two"},
    {"region_holds", region_holds, METH_VARARGS,
     "region_holds(regions, p, q, rest_p, rest_q, answers): fills answers; rest_p and "
     "rest_q may be None"},
    {"block_minima", block_minima, METH_VARARGS,
     "block_minima(dots, squares, minima): fills minima"},
    {"knn_means", knn_means, METH_VARARGS,
     "knn_means(x, dots, minima, slacks, points, squares, k, skip, out): fills out"},
    {"box", box, METH_VARARGS,
     "box(points, low, high, sums): fills the last three"},
    {"encode", encode, METH_VARARGS,
     "encode(points, low, centre, step, norm, codes, lost, spreads): fills the last "
     "three"},
    {"neighbour_radii", neighbour_radii, METH_VARARGS,
     "neighbour_radii(x, dots, minima, slacks, points, squares, labels, low, high, "
     "spreads, codes, lost, step, norm, tight, radii, nearest): fills the last two"},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace rsb::scans
