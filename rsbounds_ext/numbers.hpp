// Calls with plain numbers. Arrays of them would take longer than the kernels (a special
// function .6 us, with arrays 19): `scalar` and `evaluate` run a ufunc's loop on plain
// numbers, and `within` and `natural` check them, without arrays.
#pragma once

#include "loops.hpp"

namespace rsb::module {

// float, np.float64 and every int or np.int64 that float64 holds exactly; subclasses may mean
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
    int overflow = 0;
    long long integer;
    if (Py_TYPE(given) == &PyInt64ArrType_Type)
        integer = PyArrayScalar_VAL(given, Int64);
    else if (PyLong_CheckExact(given))
        integer = PyLong_AsLongLongAndOverflow(given, &overflow);
    else
        return false;
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
    return PyErr_Occurred() ? nullptr : float64(values[n - 1]);
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

}  // namespace rsb::module
