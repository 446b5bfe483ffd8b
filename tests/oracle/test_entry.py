"""Every public function of the oracle refuses what it can't take, by name."""

import inspect
from fractions import Fraction

import pytest

from rsbounds import oracle
from rsbounds.oracle import certificates, discrete, regions
from rsbounds.oracle._entry import _CHECKS
from rsbounds.testing._wrong import WRONG

FUNCTIONS = {
    name: function
    for module in (oracle, certificates, discrete, regions)
    for name in module.__all__
    if inspect.isfunction(function := getattr(module, name))
}
#: What each kind of parameter takes, and some by their names.
TAKEN = {
    "Real": 1,
    "Mpf": -1,
    "Real | None": 1,
    "int": 3,
    "str": "gaussian",
    "str | None": None,
    "Fraction": Fraction(1, 2),
    "Fraction | None": None,
    "Sequence[int]": (0, 1),
    "Sequence[Real]": (1, 2),
    "Sequence[Sequence[Real]]": ((1, 2),),
    "Sequence[Sequence[int] | None]": ((1, 2), None),
    "Iterable[Case]": [({0: Fraction(1)}, {0: Fraction(1)})],
    "Sequence[Case]": [({0: Fraction(1)}, {0: Fraction(1)})],
    "Callable[[Mpf], Mpf]": abs,
    "Envelope": (abs, abs),
    "Parameters": {"sigma": 1},
    "Mapping[str, Any]": {"sigma": 1},
}
NAMED = {"alpha": 0.5, "log_p": -1}
#: What no parameter takes.
NOTHING = ("empty mapping", "object", "class", "set", "date", "bytes")
NUMBERS = {"Real", "Mpf", "int", "Fraction", "Real | None", "Fraction | None"}
#: And what no number is.
NO_NUMBER = (
    *("text", "empty text", "empty list", "ragged", "list", "mapping", "True"),
    *("complex", "nan", "size 0", "shape (0, 3)", "array of text", "function"),
    *("array of objects", "complex array", "array of bool", "empty tuple"),
)


def parameters(function):
    return inspect.signature(function).parameters


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_parameter_is_checked(name):
    kinds = {each.annotation for each in parameters(FUNCTIONS[name]).values()}
    assert kinds <= set(_CHECKS) == set(TAKEN)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_no_parameter_takes_is_refused_by_name(name):
    function = FUNCTIONS[name]
    valid = {
        key: NAMED.get(key, TAKEN[each.annotation])
        for key, each in parameters(function).items()
    }
    for key, each in parameters(function).items():
        kinds = NOTHING + (NO_NUMBER if each.annotation in NUMBERS else ())
        for kind in kinds + (() if "None" in each.annotation else ("None",)):
            with pytest.raises(ValueError, match=rf"\b{key} must be"):
                function(**{**valid, key: WRONG[kind]})


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: oracle.ndtri("1.0000000000000000001"), "p"),
        (lambda: oracle.ndtr(0, dps=0), "dps"),
        (lambda: oracle.gaussian_radius(1, -1), "sigma"),
        (lambda: oracle.laplace_radius(1, 1, method="loose"), "method"),
        (lambda: certificates.excess("none", {"sigma": 1}, 1, 1, 1), "method"),
        (lambda: certificates.bound_excess("none", 1, 2, 0, 0.5), "bound"),
        (lambda: discrete.mask_cases(10**9, Fraction(1), 1), "dim"),
    ],
)
def test_what_lies_elsewhere_is_refused_by_name(call, name):
    with pytest.raises(ValueError, match=rf"\b{name} must be"):
        call()


def test_numbers_of_any_kind_are_taken_exactly():
    from mpmath import mp

    half = [0.5, "0.5", Fraction(1, 2), mp.mpf(0.5), WRONG["0-d"]]
    assert {oracle.ndtr(each) for each in half} == {oracle.ndtr(0.5)}
