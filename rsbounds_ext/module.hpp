// A Python module of scalar kernels from a table of C++ functions of doubles. Each
// entry becomes a NumPy ufunc (an attribute of its name), its address and arity in
// `symbols` (for numba), and a capsule in `__pyx_capi__` (for Cython's cimport). The
// arity is deduced from the function pointer's type.
//
// Most calls are made with plain numbers, and arrays of them would take longer than the
// kernels (a special function .6 us, with arrays 19). So `scalar` and `evaluate` run a
// ufunc's loop on plain numbers, and `within` and `natural` check them, without arrays.
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
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

namespace rsb::module {

constexpr int max_arity = 16;

// of a function from arrays of each argument, and one of results
template <class... A>
constexpr std::size_t arity_of(void (*)(A...)) {
    return sizeof...(A) - 1;
}

struct Entry {
    const char* name;
    int arity;
    void* function;
    PyUFuncGenericFunction loop;
    // "double (double, double)": a capsule's name is matched by Cython
    char signature[8 * max_arity + 9];

    // The same kernel, of which `block` computes `size` values of an array at a time
    template <int size, auto block>
    Entry in_blocks() const;
};

constexpr int reported = FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW;

// The flags of one call of a loop: invalid if a result is NaN, and nothing else. What
// the evaluation left behind says nothing about the result: compilers compute both sides
// of a branch, and searches try points beyond the domain. Looked at once for a whole
// array, and cleared only where something was raised, since clearing takes long.
class Flags {
    const int before = std::fetestexcept(reported);
    bool any_nan = false;

  public:
    Flags() = default;
    Flags(const Flags&) = delete;
    Flags& operator=(const Flags&) = delete;
    void look_at(double value) { any_nan |= value != value; }
    // at the end of the loop; a destructor would need the tables of exceptions
    void report() const {
        if (const int left = std::fetestexcept(reported) & ~before)
            std::feclearexcept(left);
        if (any_nan) std::feraiseexcept(FE_INVALID);
    }
};

template <class... A, std::size_t... I>
void loop(char** args, const npy_intp* dimensions, const npy_intp* steps, void* data,
          std::index_sequence<I...>) {
    const auto function = reinterpret_cast<double (*)(A...)>(data);
    constexpr std::size_t out = sizeof...(A);
    Flags flags;
    for (npy_intp k = 0; k < dimensions[0]; ++k) {
        const double value =
            function(*reinterpret_cast<const A*>(args[I] + k * steps[I])...);
        *reinterpret_cast<double*>(args[out] + k * steps[out]) = value;
        flags.look_at(value);
    }
    flags.report();
}

template <std::size_t>
using Double = double;

// Whole blocks by `block`, the rest by the function: both make the same bits.
template <int size, auto block, std::size_t... I>
void block_loop(char** args, const npy_intp* dimensions, const npy_intp* steps,
                void* data, std::index_sequence<I...> each) {
    constexpr std::size_t out = sizeof...(I);
    char* places[] = {args[I]..., args[out]};
    npy_intp rest = dimensions[0];
    {
        Flags flags;  // those of the rest are looked at by its own loop
        for (; rest >= size; rest -= size) {
            double given[out][size];
            double values[size];
            for (std::size_t a = 0; a < out; ++a)
                for (int i = 0; i < size; ++i)
                    given[a][i] =
                        *reinterpret_cast<const double*>(places[a] + i * steps[a]);
            block(given[I]..., values);
            for (int i = 0; i < size; ++i) {
                *reinterpret_cast<double*>(places[out] + i * steps[out]) = values[i];
                flags.look_at(values[i]);
            }
            for (std::size_t a = 0; a <= out; ++a) places[a] += size * steps[a];
        }
        flags.report();
    }
    loop<Double<I>...>(places, &rest, steps, data, each);
}

template <int size, auto block>
Entry Entry::in_blocks() const {
    Entry e = *this;
    e.loop = [](char** args, const npy_intp* n, const npy_intp* steps, void* data) {
        block_loop<size, block>(args, n, steps, data,
                                std::make_index_sequence<arity_of(block)>{});
    };
    return e;
}

// How many names "u, dim, s" has.
constexpr std::size_t words(const char* list) {
    std::size_t count = 1;
    for (; *list; ++list) count += *list == ',';
    return count;
}

template <std::size_t named, class... A>
Entry entry(const char* name, double (*function)(A...)) {
    constexpr std::size_t arity = sizeof...(A);
    static_assert(named == arity, "the table names each argument");
    static_assert(arity >= 1 && arity <= max_arity &&
                  (std::is_same_v<A, double> && ...));
    Entry e{name, int(arity), reinterpret_cast<void*>(function),
            [](char** args, const npy_intp* n, const npy_intp* steps, void* data) {
                loop<A...>(args, n, steps, data, std::index_sequence_for<A...>{});
            },
            "double (double"};
    for (std::size_t i = 1; i < arity; ++i) std::strcat(e.signature, ", double");
    std::strcat(e.signature, ")");
    return e;
}

// Takes the reference to `value`; false with an exception set if anything failed.
inline bool put(PyObject* dict, const char* key, PyObject* value) {
    const bool done = value && PyDict_SetItemString(dict, key, value) == 0;
    Py_XDECREF(value);
    return done;
}

inline bool add(PyObject* names, PyObject* symbols, PyObject* capsules, Entry& e) {
    static char types[max_arity + 1];
    std::memset(types, NPY_DOUBLE, sizeof types);
    PyObject* ufunc = PyUFunc_FromFuncAndData(&e.loop, &e.function, types, 1, e.arity,
                                              1, PyUFunc_None, e.name, nullptr, 0);
    const auto address = reinterpret_cast<std::uintptr_t>(e.function);
    return put(names, e.name, ufunc) &&
           put(symbols, e.name,
               Py_BuildValue("(Ki)", (unsigned long long)address, e.arity)) &&
           put(capsules, e.name, PyCapsule_New(e.function, e.signature, nullptr));
}

// float, np.float64 and every int that float64 holds exactly; subclasses may mean
// something else.
inline bool plain_number(PyObject* given, double& value) {
    if (PyFloat_CheckExact(given)) {
        value = PyFloat_AS_DOUBLE(given);
        return true;
    }
    if (Py_TYPE(given) == &PyDoubleArrType_Type) {
        value = PyArrayScalar_VAL(given, Double);
        return true;
    }
    if (!PyLong_CheckExact(given)) return false;
    int overflow;
    const long long integer = PyLong_AsLongLongAndOverflow(given, &overflow);
    constexpr long long exact = 1LL << 53;
    value = double(integer);
    return !overflow && -exact <= integer && integer <= exact;
}

inline PyObject* float64(double value) {
    PyObject* result = PyArrayScalar_New(Double);
    if (result) PyArrayScalar_ASSIGN(result, Double, value);
    return result;
}

// The index of the ufunc's loop over float64 alone, or -1.
inline int double_loop(const PyUFuncObject& ufunc, Py_ssize_t arity) {
    if (ufunc.nin != arity || ufunc.nout != 1 || ufunc.core_enabled) return -1;
    char doubles[max_arity + 1];
    std::memset(doubles, NPY_DOUBLE, sizeof doubles);
    for (int i = 0; i < ufunc.ntypes; ++i)
        if (std::memcmp(ufunc.types + i * (arity + 1), doubles,
                        std::size_t(arity + 1)) == 0)
            return i;
    return -1;
}

// scalar(ufunc, *args): the np.float64 that ufunc(*args) is, by the ufunc's own loop
// with no array made and no flag reported; None where an argument is not a plain
// number.
inline PyObject* scalar(PyObject*, PyObject* const* given, Py_ssize_t n) {
    if (n < 2 || n > max_arity + 1 || Py_TYPE(given[0]) != &PyUFunc_Type)
        return PyErr_Format(PyExc_TypeError,
                            "scalar(ufunc, *args): a ufunc and 1 to %d numbers",
                            max_arity);
    const auto* ufunc = reinterpret_cast<const PyUFuncObject*>(given[0]);
    const int loop = double_loop(*ufunc, n - 1);
    if (loop < 0)
        return PyErr_Format(PyExc_TypeError, "%s is not a ufunc of %d float64 numbers",
                            ufunc->name, int(n - 1));
    double values[max_arity + 1];
    char* places[max_arity + 1];
    npy_intp steps[max_arity + 1];
    const npy_intp one = 1;
    for (Py_ssize_t i = 0; i < n; ++i) {
        places[i] = reinterpret_cast<char*>(values + i);
        steps[i] = sizeof(double);
    }
    for (Py_ssize_t i = 1; i < n; ++i)
        if (!plain_number(given[i], values[i - 1])) Py_RETURN_NONE;
    ufunc->functions[loop](places, &one, steps,
                           ufunc->data ? ufunc->data[loop] : nullptr);
    if (std::fetestexcept(reported))
        std::feclearexcept(reported);  // or a later ufunc may report them
    return float64(values[n - 1]);
}

// evaluate(ufunc, *args): scalar(ufunc, *args), or ufunc(*args) where that is None.
inline PyObject* evaluate(PyObject* module, PyObject* const* given, Py_ssize_t n) {
    PyObject* number = scalar(module, given, n);
    if (number != Py_None) return number;
    Py_DECREF(number);
    return PyObject_Vectorcall(given[0], given + 1, std::size_t(n - 1), nullptr);
}

// within(value, low, high, closed): a plain number in the interval as np.float64, else
// None. `closed` is "both", "left", "right" or "neither".
inline PyObject* within(PyObject*, PyObject* const* given, Py_ssize_t n) {
    double value, low, high;
    if (n != 4 || !PyUnicode_Check(given[3]) || PyUnicode_GET_LENGTH(given[3]) == 0)
        return PyErr_Format(PyExc_TypeError, "within(value, low, high, closed)");
    if (!plain_number(given[1], low) || !plain_number(given[2], high)) Py_RETURN_NONE;
    const Py_UCS4 closed = PyUnicode_READ_CHAR(given[3], 0);
    const bool left = closed == 'b' || closed == 'l';
    const bool right = closed == 'b' || closed == 'r';
    const bool good = plain_number(given[0], value) &&
                      (left ? value >= low : value > low) &&
                      (right ? value <= high : value < high);
    if (!good) Py_RETURN_NONE;
    if (Py_TYPE(given[0]) == &PyDoubleArrType_Type) return Py_NewRef(given[0]);
    return float64(value);
}

// natural(value, low): an int or np.int64 that is at least low as np.int64, else None.
inline PyObject* natural(PyObject*, PyObject* const* given, Py_ssize_t n) {
    if (n != 2 || !PyLong_CheckExact(given[1]))
        return PyErr_Format(PyExc_TypeError, "natural(value, low)");
    const bool is_int64 = Py_TYPE(given[0]) == &PyInt64ArrType_Type;
    if (!is_int64 && !PyLong_CheckExact(given[0])) Py_RETURN_NONE;
    int overflow = 0;
    int unused;
    const long long low = PyLong_AsLongLongAndOverflow(given[1], &unused);
    const long long value = is_int64
                                ? PyArrayScalar_VAL(given[0], Int64)
                                : PyLong_AsLongLongAndOverflow(given[0], &overflow);
    if (overflow || value < low) Py_RETURN_NONE;
    if (is_int64) return Py_NewRef(given[0]);
    PyObject* result = PyArrayScalar_New(Int64);
    if (result) PyArrayScalar_ASSIGN(result, Int64, value);
    return result;
}

using Fast = PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t);
inline PyMethodDef method(const char* name, Fast function, const char* text) {
    // its type is what METH_FASTCALL says
    const auto any = reinterpret_cast<void (*)()>(function);
    return {name, reinterpret_cast<PyCFunction>(any), METH_FASTCALL, text};
}

// The table must live as long as the process: NumPy keeps pointers into it.
template <std::size_t N>
PyObject* build(PyModuleDef& definition, Entry (&table)[N]) {
    import_array1(nullptr);
    import_umath1(nullptr);
    static PyMethodDef methods[] = {
        method("scalar", scalar,
               "scalar(ufunc, *args): ufunc(*args) of plain numbers, else None"),
        method("evaluate", evaluate,
               "evaluate(ufunc, *args): ufunc(*args), quick for numbers"),
        method("within", within,
               "within(value, low, high, closed): np.float64, else None"),
        method("natural", natural, "natural(value, low): np.int64, else None"),
        {nullptr, nullptr, 0, nullptr}};
    PyObject *module = PyModule_Create(&definition), *symbols = PyDict_New(),
             *capsules = PyDict_New();
    bool good =
        module && symbols && capsules && PyModule_AddFunctions(module, methods) == 0;
    PyObject* names = good ? PyModule_GetDict(module) : nullptr;
    for (std::size_t i = 0; good && i < N; ++i)
        good = add(names, symbols, capsules, table[i]);
    good = good && PyDict_SetItemString(names, "symbols", symbols) == 0 &&
           PyDict_SetItemString(names, "__pyx_capi__", capsules) == 0;
    Py_XDECREF(symbols);
    Py_XDECREF(capsules);
    if (good) return module;
    Py_XDECREF(module);
    return nullptr;
}

}  // namespace rsb::module
