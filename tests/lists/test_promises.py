"""Each number that a public docstring promises, at the ends of its domain.

A callable whose docstring has a number such as 1e-11 is in the table of promises, or
its promise is held by the test that stands here beside it, or the number is none about
its result.
"""

import inspect
import re
import warnings
from importlib import import_module
from pathlib import Path

import mpmath as mp
import numpy as np
import promises_counts  # noqa: F401  (enters its rows)
import promises_fixed  # noqa: F401
import promises_levels  # noqa: F401
import promises_special  # noqa: F401
import pytest
from promises import PROMISES, above, around, below, broken, drawn, points
from public_calls import public_modules
from sources import PACKAGE

TESTS = Path(__file__).parents[1]

#: Promises that need more than a point beside its truth: how the test's name begins.
HELD = {
    "rsbounds.composite.radius": "test_oracle_is_never_below_and_close",
    "rsbounds.composite.route_radius": "test_routes_against_every_shift",
    "rsbounds.confidence.CDFCertificate.lower_mean": "test_cdf_certificate_of_a_known",
    "rsbounds.confidence.soft_lower_bound": "test_bounds_against_mpmath",
    "rsbounds.envelope.Widened": "test_a_slack_of_a_narrow_type_keeps_its_value",
    "rsbounds.lbrs.neighbour_radius": "test_neighbour_radius_against_rationals",
    "rsbounds.schemes.correlated": "test_the_level_is_never_above_the_least",
    "rsbounds.discrete.Curve": "test_a_radius_is_the_last_certified",
    "rsbounds.discrete.Curve.threshold": "test_a_threshold_next_to_half_certifies",
    "rsbounds.discrete.Curve.transport": "test_transport_is_as_tight_as_its_page_says",
    "rsbounds.semielastic.KNNSigma.distance": "test_distance_against_mpmath",
    "rsbounds.semielastic.KNNSigma.sigma": "test_distance_against_mpmath",
    "rsbounds.semielastic.KNNSigma.rounding": "test_log_sigma_is_lipschitz",
    "rsbounds.special.error_bound": "test_error_bound_of_every_function",
    "rsbounds.special.ncx2_df": "test_the_score_at_the_returned_degrees",
    "rsbounds.special.ncx2_nc": "test_the_score_at_the_returned_noncentrality",
    "rsbounds.special.ncx2_ppf": "test_log_tails_of_the_quantiles",
    "rsbounds.stats.ncx2": "test_entropy_against_the_definition",
    "rsbounds.stats.rice": "test_tails_and_density(x, b)",
    "rsbounds.torch.TorchSampler": "test_other_sums_changed_inputs",
    "rsbounds.torch.lipschitz_upper_bound": "test_bounds_of_linear_layers",
    "rsbounds.torch.radius.anisotropic": "test_values_are_lower_bounds_of_the",
    "rsbounds.torch.radius.gaussian": "test_gaussian_is_below_the_truth",
    "rsbounds.torch.radius.semielastic": "test_semielastic_slopes(sigma",
}

#: Numbers that are a setting, a domain or the width of a step.
NO_PROMISE = {
    "rsbounds.audit.schemes.SchemeProof.proved",  # how near it looks
    "rsbounds.confidence.ScoreHistogram",
    "rsbounds.lipschitz.p_min_search",
    "rsbounds.schemes.flips",
    "rsbounds.schemes.uniform",
    "rsbounds.transforms.Transform",
}

NUMBER = re.compile(r"\d(\.\d+)?e-\d|\b2\^-\d|\bwithin \.0\d")


def documented():
    """The name of each public callable, and the text of its docstring."""
    for name in public_modules():
        if name.startswith("rsbounds.cli"):
            continue
        module = import_module(name)
        for key in getattr(module, "__all__", ()):
            made = getattr(module, key)
            if callable(made):
                yield f"{name}.{key}", made
            if inspect.isclass(made):
                for inner, function in vars(made).items():
                    if not inner.startswith("_") and callable(function):
                        yield f"{name}.{key}.{inner}", function


def handed_on():
    """The names of what rooms hand one another, which may be in the table too."""
    for path in PACKAGE.glob("*/internal.py"):
        module = import_module(f"rsbounds.{path.parent.name}.internal")
        yield from (f"{module.__name__}.{name}" for name in module.__all__)


def promising():
    """Public callables whose docstring has such a number outside of its examples."""
    found = {}
    for name, function in documented():
        text = (inspect.getdoc(function) or "").split("\nExamples\n")[0]
        if NUMBER.search(text):
            found.setdefault(id(function), name)
    return set(found.values())


@pytest.mark.slow
def test_each_promise_of_a_docstring_is_in_the_table():
    pytest.importorskip("torch")
    there = set(PROMISES) | set(HELD) | NO_PROMISE
    assert promising() <= there


@pytest.mark.slow
def test_no_entry_of_the_table_is_left_over():
    names = {name for name, _ in documented()} | set(handed_on())
    assert (set(PROMISES) | set(HELD) | NO_PROMISE) <= names
    assert not set(PROMISES) & set(HELD)


def test_each_test_that_holds_a_promise_exists():
    texts = [path.read_text(encoding="utf-8") for path in TESTS.rglob("test_*.py")]
    for test in HELD.values():
        assert sum(text.count(f"def {test}") for text in texts) == 1, test


def findings(at, chosen):
    """Points at which a value is outside of its limits."""
    found = []
    with mp.workdps(60), np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for point in chosen:
            for value, least, most in at(**point):
                if broken(value, least, most):
                    found.append((point, float(value), mp.nstr(least), mp.nstr(most)))
    return found


@pytest.mark.parametrize("name", [name for name in PROMISES if PROMISES[name].quick])
def test_a_promise_holds_at_the_ends_of_its_domain(name):
    row = PROMISES[name]
    assert not findings(row.at, points(row.ends, row.quick))


@pytest.mark.slow
@pytest.mark.parametrize("name", PROMISES)
def test_a_promise_holds_between_them(name):
    row = PROMISES[name]
    assert not findings(row.at, drawn(row.ends, 5 * row.quick + 5, seed=1))


@pytest.mark.parametrize(
    ("limits", "wrong"),
    [
        (below, 1 - 2e-11),
        (below, 1 + 1e-15),
        (above, 1 + 2e-11),
        (above, 1 - 1e-15),
        (around, 1 + 2e-11),
        (around, 1 - 2e-11),
        (around, float("nan")),
    ],
)
def test_a_broken_promise_is_seen(limits, wrong):
    assert broken(*limits(wrong, mp.mpf(1), 1e-11))
    assert not broken(*limits(1.0, mp.mpf(1), 1e-11))
