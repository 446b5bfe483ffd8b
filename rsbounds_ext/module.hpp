// A Python module of scalar kernels from a table of C++ functions: for each entry a NumPy ufunc
// (an attribute of its name), its address and arity in `symbols` (for numba), and a capsule in
// `__pyx_capi__` (for Cython's cimport). The arity comes from the function pointer's type.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#define NPY_NO_DEPRECATED_API NPY_1_22_API_VERSION
#include <numpy/arrayobject.h>
#include <numpy/ufuncobject.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace rsb::module {

constexpr int max_arity = 16;

struct Entry {
    const char* name;
    int arity;
    void* function;
    PyUFuncGenericFunction loop;
    const char* signature;  // as Cython writes it
};

template <class... A, std::size_t... I>
void loop(char** args, const npy_intp* dimensions, const npy_intp* steps, void* data,
          std::index_sequence<I...>) {
    const auto function = reinterpret_cast<double (*)(A...)>(data);
    constexpr std::size_t out = sizeof...(A);
    for (npy_intp k = 0; k < dimensions[0]; ++k)
        *reinterpret_cast<double*>(args[out] + k * steps[out]) =
            function(*reinterpret_cast<const A*>(args[I] + k * steps[I])...);
}

template <std::size_t N>
struct Signature {  // "double (double, double)" for N = 2
    char text[8 + 8 * N + 1] = {};
    constexpr Signature() {
        const char first[] = "double (", next[] = "double, ";
        for (std::size_t i = 0; i < 8; ++i) text[i] = first[i];
        for (std::size_t i = 0; i < 8 * N; ++i) text[8 + i] = next[i % 8];
        text[8 * N + 6] = ')';
        text[8 * N + 7] = 0;
    }
};
template <std::size_t N>
inline constexpr Signature<N> signature_of{};

template <class... A>
Entry entry(const char* name, double (*function)(A...)) {
    constexpr std::size_t arity = sizeof...(A);
    static_assert(arity >= 1 && arity <= max_arity && (std::is_same_v<A, double> && ...));
    return {name, int(arity), reinterpret_cast<void*>(function),
            [](char** args, const npy_intp* n, const npy_intp* steps, void* data) {
                loop<A...>(args, n, steps, data, std::index_sequence_for<A...>{});
            },
            signature_of<arity>.text};
}

// Takes the reference to `value`; false with an exception set if anything failed.
inline bool put(PyObject* dict, const char* key, PyObject* value) {
    const bool done = value && PyDict_SetItemString(dict, key, value) == 0;
    Py_XDECREF(value);
    return done;
}

inline bool add(PyObject* names, PyObject* symbols, PyObject* capsules, Entry& e) {
    static const char types[max_arity + 1] = {
        NPY_DOUBLE, NPY_DOUBLE, NPY_DOUBLE, NPY_DOUBLE, NPY_DOUBLE, NPY_DOUBLE,
        NPY_DOUBLE, NPY_DOUBLE, NPY_DOUBLE, NPY_DOUBLE, NPY_DOUBLE, NPY_DOUBLE,
        NPY_DOUBLE, NPY_DOUBLE, NPY_DOUBLE, NPY_DOUBLE, NPY_DOUBLE};
    PyObject* ufunc = PyUFunc_FromFuncAndData(&e.loop, &e.function, types, 1, e.arity, 1,
                                              PyUFunc_None, e.name, nullptr, 0);
    const auto address = reinterpret_cast<std::uintptr_t>(e.function);
    return put(names, e.name, ufunc) &&
           put(symbols, e.name, Py_BuildValue("(Ki)", (unsigned long long)address, e.arity)) &&
           put(capsules, e.name, PyCapsule_New(e.function, e.signature, nullptr));
}

// The table must live as long as the process: NumPy keeps pointers into it.
template <std::size_t N>
PyObject* build(PyModuleDef& definition, Entry (&table)[N]) {
    import_array1(nullptr);
    import_umath1(nullptr);
    PyObject *module = PyModule_Create(&definition), *symbols = PyDict_New(), *capsules = PyDict_New();
    bool good = module && symbols && capsules;
    PyObject* names = good ? PyModule_GetDict(module) : nullptr;
    for (std::size_t i = 0; good && i < N; ++i) good = add(names, symbols, capsules, table[i]);
    good = good && PyDict_SetItemString(names, "symbols", symbols) == 0 &&
           PyDict_SetItemString(names, "__pyx_capi__", capsules) == 0;
    Py_XDECREF(symbols);
    Py_XDECREF(capsules);
    if (good) return module;
    Py_XDECREF(module);
    return nullptr;
}

}  // namespace rsb::module
