// What a call of a ufunc passes through before NumPy: the slot `vectorcall` of the ufunc
// is set to `call`, and NumPy's own stands behind it. Plain numbers meet no array, names
// of arguments are keywords, and an error is asked of Python again, which says more.
#pragma once

#include "numbers.hpp"

namespace rsb::module {

inline vectorcallfunc& numpy_call() {
    static vectorcallfunc own = nullptr;
    return own;
}

constexpr Py_ssize_t most_values = max_arity + 16;
// from so many elements of .4 us on, work is worth threads
constexpr npy_intp large = 5000;

// The values of a call, those of arguments first and in their order.
class Call {
    const Entry& entry;
    PyObject* values[most_values] = {};
    PyObject* made[max_arity] = {};  // what this call made of an argument
    Py_ssize_t positional = 0;
    Py_ssize_t all = 0;
    PyObject* names = nullptr;  // of the values that are not positional
    bool complete = false;

    int place_of(PyObject* name) const {
        for (int i = 0; i < entry.arity; ++i)
            if (PyUnicode_Compare(name, entry.names[i]) == 0) return i;
        return -1;
    }

    bool fails(const char* text, int place) const {
        PyErr_Format(PyExc_TypeError, text, entry.name, entry.names[place]);
        return false;
    }

    bool take_named(PyObject* const* given, PyObject* given_names) {
        PyObject* options[most_values];
        PyObject* option_names[most_values];
        Py_ssize_t count = 0;
        bool named = false;
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(given_names); ++i) {
            PyObject* name = PyTuple_GET_ITEM(given_names, i);
            const int place = place_of(name);
            if (place < 0) {
                options[count] = given[i];
                option_names[count++] = name;
            } else if (values[place]) {
                return fails("%s() got several values for %U", place);
            } else {
                values[place] = given[i];
                named = true;
            }
        }
        for (int i = 0; named && i < entry.arity; ++i)
            if (!values[i]) return fails("%s() needs a value for %U", i);
        if (named) positional = entry.arity;
        all = positional + count;
        if (count && !(names = PyTuple_New(count))) return false;
        for (Py_ssize_t i = 0; i < count; ++i) {
            values[positional + i] = options[i];
            PyTuple_SET_ITEM(names, i, Py_NewRef(option_names[i]));
        }
        return true;
    }

    // Lists as arrays and int as float, as a ufunc takes neither all of them nor knows
    // which is of True and False.
    bool take(int i) {
        PyObject* value = values[i];
        if (PyLong_CheckExact(value)) {
            const double number = PyLong_AsDouble(value);
            if (number == -1 && PyErr_Occurred()) return false;
            made[i] = PyFloat_FromDouble(number);
        } else if (PyList_Check(value) || PyTuple_Check(value)) {
            made[i] = PyArray_FROM_O(value);
        } else {
            return true;
        }
        if (!made[i]) return false;
        values[i] = made[i];
        return true;
    }

    static bool is_boolean(PyObject* value) {
        if (PyArray_Check(value))
            return PyArray_TYPE(reinterpret_cast<PyArrayObject*>(value)) == NPY_BOOL;
        return PyBool_Check(value) || PyArray_IsScalar(value, Bool);
    }

  public:
    explicit Call(const Entry& entry) : entry(entry) {}
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    ~Call() {
        for (PyObject* one : made) Py_XDECREF(one);
        Py_XDECREF(names);
    }

    bool take(PyObject* const* given, Py_ssize_t n, PyObject* given_names) {
        const Py_ssize_t named = given_names ? PyTuple_GET_SIZE(given_names) : 0;
        if (n + named >= most_values / 2) {
            PyErr_Format(PyExc_TypeError, "%s() got too many arguments", entry.name);
            return false;
        }
        for (Py_ssize_t i = 0; i < n; ++i) values[i] = given[i];
        positional = all = n;
        if (named && !take_named(given + n, given_names)) return false;
        complete = positional >= entry.arity;
        return true;
    }

    // False with an error set where an argument is no number
    bool take_numbers() {
        for (int i = 0; complete && i < entry.arity; ++i) {
            if (!take(i)) return false;
            if (is_boolean(values[i])) {
                PyErr_SetString(PyExc_TypeError, "True and False are no numbers");
                return false;
            }
        }
        return true;
    }

    // Large arrays are worth threads, and masked ones have elements that may be anything
    bool is_special() const {
        if (!complete || all != entry.arity) return false;
        for (int i = 0; i < entry.arity; ++i)
            if (PyArray_Check(values[i]) &&
                (!PyArray_CheckExact(values[i]) ||
                 PyArray_SIZE(reinterpret_cast<PyArrayObject*>(values[i])) >= large))
                return true;
        return false;
    }

    PyObject* of(PyObject* function, vectorcallfunc how) const {
        return how(function, values, std::size_t(positional), names);
    }

    PyObject* in_pieces(PyObject* ufunc) const {
        PyObject* with[max_arity + 1] = {ufunc};
        for (int i = 0; i < entry.arity; ++i) with[i + 1] = values[i];
        return PyObject_Vectorcall(hooks().in_pieces, with,
                                   std::size_t(entry.arity + 1), nullptr);
    }

    // The result that Python finds instead of the error that is set, or its error
    PyObject* explained(PyObject* ufunc) const {
        const bool known = PyErr_ExceptionMatches(PyExc_ValueError) ||
                           PyErr_ExceptionMatches(PyExc_TypeError) ||
                           PyErr_ExceptionMatches(PyExc_OverflowError) ||
                           PyErr_ExceptionMatches(PyExc_RuntimeError);
        if (!complete || !known || !hooks().explanation) return nullptr;
        PyObject *type, *error, *traceback;
        PyErr_Fetch(&type, &error, &traceback);
        PyErr_NormalizeException(&type, &error, &traceback);
        PyObject *args = PyDict_New(), *options = PyDict_New();
        bool good = args && options;
        for (int i = 0; good && i < entry.arity; ++i)
            good = PyDict_SetItem(args, entry.names[i], values[i]) == 0;
        for (Py_ssize_t i = entry.arity; good && i < all; ++i)
            good = i < positional
                       ? PyDict_SetItemString(options, "out", values[i]) == 0
                       : PyDict_SetItem(options, PyTuple_GET_ITEM(names, i - positional),
                                        values[i]) == 0;
        PyObject* result =
            good ? PyObject_CallFunctionObjArgs(hooks().explanation, ufunc, error, args,
                                                options, nullptr)
                 : nullptr;
        for (PyObject* one : {type, error, traceback, args, options}) Py_XDECREF(one);
        return result;
    }
};

// The result of plain numbers alone, or null where NumPy is to be asked
inline PyObject* call_of_numbers(const Entry& e, PyObject* const* given) {
    double values[max_arity + 1];
    char* places[max_arity + 1];
    npy_intp steps[max_arity + 1];
    for (int i = 0; i < e.arity; ++i)
        if (!plain_number(given[i], values[i])) return nullptr;
    for (int i = 0; i <= e.arity; ++i) {
        places[i] = reinterpret_cast<char*>(values + i);
        steps[i] = sizeof(double);
    }
    const npy_intp one = 1;
    e.loops[0](places, &one, steps, e.data[0]);
    const double value = values[e.arity];
    if (value == value) return float64(value);
    PyErr_Clear();  // NumPy raises it again, and the flag
    std::feclearexcept(reported);
    return nullptr;
}

inline PyObject* call(PyObject* ufunc, PyObject* const* given, std::size_t flags,
                      PyObject* names) {
    const auto& object = *reinterpret_cast<const PyUFuncObject*>(ufunc);
    const Entry& entry = *static_cast<const Entry*>(object.data[0]);
    const Py_ssize_t n = PyVectorcall_NARGS(flags);
    if (n == entry.arity && !names)
        if (PyObject* number = call_of_numbers(entry, given)) return number;
    if (!entry.checked) return numpy_call()(ufunc, given, std::size_t(n), names);
    Call call(entry);
    if (!call.take(given, n, names)) return nullptr;
    if (!call.take_numbers()) return call.explained(ufunc);
    static thread_local bool inside = false;  // `in_pieces` calls the ufunc itself
    PyObject* result;
    if (!inside && hooks().in_pieces && call.is_special()) {
        inside = true;
        result = call.in_pieces(ufunc);
        inside = false;
    } else {
        result = call.of(ufunc, numpy_call());
    }
    return result ? result : call.explained(ufunc);
}

inline void take_calls(PyObject* ufunc) {
    auto& slot = reinterpret_cast<PyUFuncObject*>(ufunc)->vectorcall;
    numpy_call() = slot;
    slot = call;
}

inline PyObject* set_hooks(PyObject*, PyObject* args) {
    PyObject *refusal, *explanation, *in_pieces;
    if (!PyArg_ParseTuple(args, "OOO", &refusal, &explanation, &in_pieces))
        return nullptr;
    Py_XSETREF(hooks().refusal, Py_NewRef(refusal));
    Py_XSETREF(hooks().explanation, Py_NewRef(explanation));
    Py_XSETREF(hooks().in_pieces, Py_NewRef(in_pieces));
    Py_RETURN_NONE;
}

}  // namespace rsb::module
