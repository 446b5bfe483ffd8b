// A Python module of scalar kernels from a table of C++ functions of doubles. Each
// entry becomes a NumPy ufunc (an attribute of its name), its address and arity in
// `symbols` (for numba), and a capsule in `__pyx_capi__` (for Cython's cimport). The
// arity is deduced from the function pointer's type.
#pragma once

#include "caller.hpp"

namespace rsb::module {

// Takes the reference to `value`; false with an exception set if anything failed.
inline bool put(PyObject* dict, const char* key, PyObject* value) {
    const bool done = value && PyDict_SetItemString(dict, key, value) == 0;
    Py_XDECREF(value);
    return done;
}

// The names "u, dim, s" of the arguments, and their domains from the table of all.
template <std::size_t N>
bool name_arguments(Entry& e, const Domain (&all)[N]) {
    const char* at = e.arguments;
    for (int i = 0; i < e.arity; ++i) {
        const std::size_t size = std::strcspn(at, ",");
        e.names[i] = PyUnicode_FromStringAndSize(at, Py_ssize_t(size));
        if (!e.names[i]) return false;
        at += size + 2;
        bool found = false;
        for (const Domain& one : all)
            if (PyUnicode_CompareWithASCIIString(e.names[i], one.name) == 0) {
                e.domains[i] = one;
                found = true;
            }
        if (e.checked && !found)
            return PyErr_Format(PyExc_SystemError, "%s: an argument has no domain",
                                e.name);
    }
    return true;
}

inline bool add(PyObject* names, PyObject* symbols, PyObject* capsules, Entry& e) {
    const int loops = e.checked ? 2 : 1;
    for (int i = 0; i < 2; ++i) {
        char* types = e.types + i * (e.arity + 1);
        std::memset(types, i ? NPY_LONGDOUBLE : NPY_DOUBLE, std::size_t(e.arity));
        types[e.arity] = NPY_DOUBLE;
        e.data[i] = &e;
    }
    PyObject* ufunc =
        PyUFunc_FromFuncAndData(e.loops, e.data, e.types, loops, e.arity, 1,
                                PyUFunc_None, e.name, nullptr, 0);
    if (ufunc) take_calls(ufunc);
    const auto address = reinterpret_cast<std::uintptr_t>(e.function);
    return put(names, e.name, ufunc) &&
           put(symbols, e.name,
               Py_BuildValue("(Ki)", (unsigned long long)address, e.arity)) &&
           put(capsules, e.name, PyCapsule_New(e.function, e.signature, nullptr));
}

using Fast = PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t);
inline PyMethodDef method(const char* name, Fast function, const char* text) {
    // its type is what METH_FASTCALL says
    const auto any = reinterpret_cast<void (*)()>(function);
    return {name, reinterpret_cast<PyCFunction>(any), METH_FASTCALL, text};
}

// The table must live as long as the process: NumPy keeps pointers into it. `more` are
// further functions of the module.
template <std::size_t N, std::size_t M>
PyObject* build(PyModuleDef& definition, Entry (&table)[N], const Domain (&domains)[M],
                PyMethodDef* more) {
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
        {"set_hooks", set_hooks, METH_VARARGS,
         "set_hooks(refusal, explanation, in_pieces): what calls ask of Python"},
        {nullptr, nullptr, 0, nullptr}};
    PyObject *module = PyModule_Create(&definition), *symbols = PyDict_New(),
             *capsules = PyDict_New(), *limits = PyDict_New();
    hooks().nan_outside = PyContextVar_New("rsbounds_nan_outside", Py_False);
    bool good =
        module && symbols && capsules && limits && hooks().nan_outside &&
        PyModule_AddFunctions(module, methods) == 0 &&
        PyModule_AddFunctions(module, more) == 0;
    PyObject* names = good ? PyModule_GetDict(module) : nullptr;
    for (std::size_t i = 0; good && i < N; ++i)
        good = name_arguments(table[i], domains) &&
               add(names, symbols, capsules, table[i]);
    for (std::size_t i = 0; good && i < M; ++i)
        good = put(limits, domains[i].name,
                   Py_BuildValue("(dd)", domains[i].low, domains[i].high));
    good = good && PyDict_SetItemString(names, "symbols", symbols) == 0 &&
           PyDict_SetItemString(names, "DOMAIN", limits) == 0 &&
           PyDict_SetItemString(names, "nan_outside", hooks().nan_outside) == 0 &&
           PyDict_SetItemString(names, "__pyx_capi__", capsules) == 0;
    Py_XDECREF(limits);
    Py_XDECREF(symbols);
    Py_XDECREF(capsules);
    if (good) return module;
    Py_XDECREF(module);
    return nullptr;
}

}  // namespace rsb::module
