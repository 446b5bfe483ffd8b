// The loops of NumPy ufuncs over scalar kernels, and what they do about a NaN.
//
// A kernel answers NaN outside its domain, so a loop looks at arguments only where a NaN
// came out. One that is outside its domain is an error that names it: the loop sets it
// as NumPy's own power does for negative powers of integers, and NumPy raises it. A NaN
// of any other origin raises the invalid flag.
//
// No std::string and the like: what the two copies of this code (module.cpp) share, the
// linker would merge.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#define NPY_NO_DEPRECATED_API NPY_1_22_API_VERSION
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>
#include <numpy/ufuncobject.h>

#include <cfenv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "rsbounds/simd.hpp"

namespace rsb::module {

constexpr int max_arity = 16;

// What an argument of that name may be, ends included
struct Domain {
    const char* name;
    double low, high;
    bool or_zero = false;

    template <class T>
    bool has(T value) const {  // and NaN, which is of no domain
        return value != value || (value >= low && value <= high) ||
               (or_zero && value == 0);
    }
};

// of a function from arrays of each argument, and one of results
template <class... A>
constexpr std::size_t arity_of(void (*)(A...)) {
    return sizeof...(A) - 1;
}

struct Entry {
    const char* name;
    const char* arguments;  // "u, dim, s"
    int arity;
    bool checked;
    void* function;
    // over doubles and, where arguments are checked, over long doubles
    PyUFuncGenericFunction loops[2];
    // "double (double, double)": a capsule's name is matched by Cython
    char signature[8 * max_arity + 9];
    Domain domains[max_arity];  // of each argument, where they are checked
    PyObject* names[max_arity];
    // what NumPy keeps pointers into
    void* data[2];
    char types[2 * (max_arity + 1)];

    // The same kernel, of which `block` computes `size` values of an array at a time
    template <int size, auto block>
    Entry in_blocks() const;
};

// What Python sets: `refusal(name, value)` makes the error of an argument outside its
// domain, `nan_outside` is the variable of the context that asks for NaN instead.
struct Hooks {
    PyObject* refusal = nullptr;
    PyObject* explanation = nullptr;
    PyObject* in_pieces = nullptr;
    PyObject* nan_outside = nullptr;
};
inline Hooks& hooks() {
    static Hooks hooks;
    return hooks;
}

inline bool nan_is_wanted() {
    PyObject* value = nullptr;
    if (PyContextVar_Get(hooks().nan_outside, nullptr, &value) < 0 || !value)
        return false;
    const bool wanted = value == Py_True;
    Py_DECREF(value);
    return wanted;
}

// Set the error of one argument; false where NaN is wanted instead.
inline bool refuse(const Domain& domain, double value) {
    const PyGILState_STATE state = PyGILState_Ensure();
    const bool refused = PyErr_Occurred() || !nan_is_wanted();
    if (refused && !PyErr_Occurred()) {
        PyObject* error = hooks().refusal ? PyObject_CallFunction(hooks().refusal, "sd",
                                                                  domain.name, value)
                                          : nullptr;
        if (error)
            PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error)), error);
        else if (!PyErr_Occurred())
            PyErr_Format(PyExc_ValueError, "%s is outside its domain", domain.name);
        Py_XDECREF(error);
    }
    PyGILState_Release(state);
    return refused;
}

constexpr int reported = FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW;

// What one call of a loop reports: an argument outside its domain, or the flag invalid
// if a result is NaN, and nothing else. What the evaluation left behind says nothing
// about the result: compilers compute both sides of a branch, and searches try points
// beyond the domain. Looked at once for a whole array, and cleared only where something
// was raised, since clearing takes long.
class Watch {
    const Entry& entry;
    const int before = std::fetestexcept(reported);
    bool any_nan = false;
    int outside = -1;
    double value = 0;

    template <class T, std::size_t arity>
    RSB_RARE void look(const T (&given)[arity]) {
        any_nan = true;
        if (!entry.checked || outside >= 0) return;
        for (std::size_t i = 0; i < arity; ++i) {
            const Domain& domain = entry.domains[i];
            if (domain.has(given[i])) continue;
            outside = int(i);
            value = double(given[i]);
            return;
        }
    }

  public:
    explicit Watch(void* data) : entry(*static_cast<const Entry*>(data)) {}
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
    template <class T, std::size_t arity>
    void look_at(double result, const T (&given)[arity]) {
        if (result != result) look(given);
    }
    // at the end of the loop; a destructor would need the tables of exceptions
    void report() const {
        if (const int left = std::fetestexcept(reported) & ~before)
            std::feclearexcept(left);
        if (any_nan && !(outside >= 0 && refuse(entry.domains[outside], value)))
            std::feraiseexcept(FE_INVALID);
    }
};

template <std::size_t, class T>
using Same = T;

template <class T, std::size_t... I>
void loop(char** args, const npy_intp* dimensions, const npy_intp* steps, void* data,
          std::index_sequence<I...>) {
    const Entry& entry = *static_cast<const Entry*>(data);
    const auto function =
        reinterpret_cast<double (*)(Same<I, double>...)>(entry.function);
    constexpr std::size_t out = sizeof...(I);
    Watch watch(data);
    for (npy_intp k = 0; k < dimensions[0]; ++k) {
        const T given[] = {*reinterpret_cast<const T*>(args[I] + k * steps[I])...};
        bool inside = true;
        if constexpr (!std::is_same_v<T, double>)  // rounded it might be
            inside = (entry.domains[I].has(given[I]) && ...);
        const double value =
            inside ? function(double(given[I])...) : std::nan("");
        *reinterpret_cast<double*>(args[out] + k * steps[out]) = value;
        watch.look_at(value, given);
    }
    watch.report();
}

// Arrays of `size` values of an argument: its own memory where they follow each other
template <int size>
struct Block {
    double copy[size];
    const double (&of(const char* place, npy_intp step))[size] {
        if (step == sizeof(double))
            return *reinterpret_cast<const double(*)[size]>(place);
        for (int i = 0; i < size; ++i)
            copy[i] = *reinterpret_cast<const double*>(place + i * step);
        return copy;
    }
};

// Whole blocks by `block`, the rest by the function: both make the same bits. Results
// are stored last, as they may take the place of arguments.
template <int size, auto block, std::size_t... I>
void block_loop(char** args, const npy_intp* dimensions, const npy_intp* steps,
                void* data, std::index_sequence<I...> each) {
    constexpr std::size_t out = sizeof...(I);
    char* places[] = {args[I]..., args[out]};
    npy_intp rest = dimensions[0];
    {
        Watch watch(data);  // the rest is looked at by its own loop
        for (; rest >= size; rest -= size) {
            Block<size> blocks[out];
            const double(*given[])[size] = {&blocks[I].of(places[I], steps[I])...};
            double values[size];
            block(*given[I]..., values);
            bool any_nan = false;
            for (int i = 0; i < size; ++i) any_nan |= values[i] != values[i];
            for (int i = 0; any_nan && i < size; ++i) {
                const double row[] = {(*given[I])[i]...};
                watch.look_at(values[i], row);
            }
            for (int i = 0; i < size; ++i)
                *reinterpret_cast<double*>(places[out] + i * steps[out]) = values[i];
            for (std::size_t a = 0; a <= out; ++a) places[a] += size * steps[a];
        }
        watch.report();
    }
    loop<double>(places, &rest, steps, data, each);
}

template <int size, auto block>
Entry Entry::in_blocks() const {
    Entry e = *this;
    e.loops[0] = [](char** args, const npy_intp* n, const npy_intp* steps, void* data) {
        block_loop<size, block>(args, n, steps, data,
                                std::make_index_sequence<arity_of(block)>{});
    };
    return e;
}

template <class T, std::size_t arity>
void loop_over(char** args, const npy_intp* n, const npy_intp* steps, void* data) {
    loop<T>(args, n, steps, data, std::make_index_sequence<arity>{});
}

// How many names "u, dim, s" has.
constexpr std::size_t words(const char* list) {
    std::size_t count = 1;
    for (; *list; ++list) count += *list == ',';
    return count;
}

template <std::size_t named, class... A>
Entry entry(const char* name, const char* arguments, bool checked,
            double (*function)(A...)) {
    constexpr std::size_t arity = sizeof...(A);
    static_assert(named == arity, "the table names each argument");
    static_assert(arity >= 1 && arity <= max_arity &&
                  (std::is_same_v<A, double> && ...));
    Entry e{};
    e.name = name;
    e.arguments = arguments;
    e.arity = int(arity);
    e.checked = checked;
    e.function = reinterpret_cast<void*>(function);
    e.loops[0] = loop_over<double, arity>;
    e.loops[1] = loop_over<npy_longdouble, arity>;
    std::strcpy(e.signature, "double (double");
    for (std::size_t i = 1; i < arity; ++i) std::strcat(e.signature, ", double");
    std::strcat(e.signature, ")");
    return e;
}

}  // namespace rsb::module
