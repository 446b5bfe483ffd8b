"""Rows as they are written are proved; anything larger is a finding, whatever the
method.
"""

import math
from dataclasses import replace

import flint
import numpy as np
import pytest
from decision_lists import RULES as NAMED
from hypothesis import given, settings
from hypothesis import strategies as st

from rsbounds import composite
from rsbounds.answers import DecisionList, TopClass, TopK
from rsbounds.answers._list import Stages
from rsbounds.answers._votes import Votes
from rsbounds.audit import Kind, _topk
from rsbounds.audit._list import ListCounts
from rsbounds.audit._rows import findings
from rsbounds.audit.schemes import RADII
from rsbounds.audit.schemes._absolute import AbsoluteProof
from rsbounds.audit.schemes._discrete import DiscreteProof
from rsbounds.certify import Procedure, certify_counts
from rsbounds.results import Manifest, Row
from rsbounds.schemes import METHODS

SIGMA = {"lip": 0.05, "sigma_min": 0.25, "dim": 784}
SHAPED = {"inner": 0.3}
SCHEMES = {
    "gaussian": ("gaussian", {"sigma": 0.5}),
    "gaussian in linf": ("gaussian", {"sigma": 0.5, "norm": math.inf, "dim": 784}),
    "anisotropic": ("anisotropic", SHAPED),
    "semi-elastic": ("semi-elastic", {"rate": 0.01, "dim": 784}),
    "semi-elastic, sound": ("semi-elastic", {"rate": 0.01, "dim": 784, "slack": 2e-14}),
    "no rate": ("semi-elastic", {"rate": 0.0, "dim": 784}),
    "lipschitz": ("lipschitz", SIGMA),
    "lipschitz, sound": ("lipschitz", SIGMA | {"slack": 1e-13}),
    "at the floor": ("lipschitz", SIGMA | {"sigma_min": 0.5}),
    "range": ("range", {"sigma_min": 0.499, "sigma_max": 0.501, "dim": 784}),
    "generator": ("generator", SIGMA | SHAPED | {"mean_lip": 0.5}),
    "generator, sound": (
        "generator",
        SIGMA | SHAPED | {"mean_lip": 0.5, "slack": 1e-13, "shift": 1e-12},
    ),
}
SCHEMES |= {
    "laplace": ("laplace", {"sigma": 0.5}),
    "uniform": ("uniform", {"sigma": 0.5}),
    "exponential": ("exponential", {"rate": 2.0}),
    "brightness": (
        "transformed",
        {"law": {"method": "gaussian", "sigma": 0.5}, "transform": "brightness"},
    ),
    "blur": (
        "transformed",
        {"law": {"method": "exponential", "rate": 2.0}, "transform": "blur"},
    ),
    "correlated": ("correlated", {"matrix": [[0.5, 0.1], [-0.3, 0.8]]}),
    "two-queries": ("two-queries", {"sigma_1": 0.5, "sigma_2": 0.7, "dim": 784}),
}
COUNTS = [(9900, 60), (5100, 4000), (4500, 700), (5100, 4900), (10000, 0), (300, 200)]
BOUNDS = {
    "clopper-pearson": Procedure(n=10_000),
    "cohen": Procedure(n=10_000, runner_up=False),
    "anytime": Procedure(n=10_000, alpha=0.05, bound="anytime"),
}


def run(name, procedure):
    method, parameters = SCHEMES[name]
    scheme = METHODS[method].from_parameters(parameters)
    rows = []
    for i, (first, second) in enumerate(COUNTS):
        counts = (first, second, procedure.n - first - second)
        votes = Votes(
            scheme.own_level or 0.5, np.array([60, 40]), np.array(counts), procedure.n
        )
        certificate, _ = TopClass(scheme).certify(votes, procedure, label=0, index=i)
        rows.append(Row.of(i, 0, certificate, 0.1))
    known = {"method": method, "scope": scheme.scope, "parameters": parameters}
    return Manifest(procedure=procedure, data={"inputs": len(rows)}, **known), rows


def kinds(row, manifest):
    return [kind for kind, _ in findings(row, manifest)]


CASES = [
    *((name, "clopper-pearson") for name in SCHEMES),
    *(("semi-elastic", b) for b in BOUNDS),
]


@pytest.mark.parametrize(("name", "bound"), CASES)
def test_rows_are_proved_and_raised_ones_are_not(name, bound):
    manifest, rows = run(name, BOUNDS[bound])
    certified = [row for row in rows if row.radius]
    assert len(certified) >= 2
    for row in rows:
        assert kinds(row, manifest) == []
    for row in certified:
        assert kinds(replace(row, radius=row.radius * (1 + 1e-9)), manifest) == [
            Kind.RADIUS
        ]
        assert kinds(replace(row, radius=math.inf), manifest) == [Kind.RADIUS]
        assert kinds(replace(row, radius=0.9 * row.radius), manifest) == [Kind.WEAK]


@pytest.mark.parametrize("bound", BOUNDS)
def test_raised_bounds_are_not_proved(bound):
    manifest, (row, *_) = run("gaussian", BOUNDS[bound])
    # a row's own contradictions come with them: its scores and its radius are of one
    # another
    for name, sign in (
        ("z_a", 1),
        ("p_a", 1),
        *([("z_b", -1)] if bound != "cohen" else []),
    ):
        value = getattr(row, name)
        assert Kind.BOUND in kinds(
            replace(row, **{name: value + sign * 1e-8}), manifest
        )
        assert Kind.WEAK in kinds(replace(row, **{name: value - sign * 1e-4}), manifest)
        assert Kind.BOUND in kinds(replace(row, **{name: math.nan}), manifest)
    surer = replace(manifest, procedure=replace(manifest.procedure, alpha=0.0001))
    assert Kind.BOUND in kinds(row, surer)


def test_one_target_radius():
    procedure = Procedure(n=20_000, target_radius=0.4)
    manifest, _ = run(
        "semi-elastic", replace(procedure, target_radius=None, bound="anytime")
    )
    manifest = replace(manifest, procedure=procedure)
    scheme = METHODS["semi-elastic"].from_parameters(manifest.parameters)
    known = {"n0": 100, "n": 1000, "alpha": 0.001, "bound": "anytime"}
    for hits, earns in ((950, True), (600, False)):
        found = certify_counts(
            scheme, 0.5, (60, 40), (hits, 1000 - hits), Procedure(**known)
        )
        row = Row.of(0, 0, replace(found, radius=0.4 if earns else 0.0), 0.1)
        assert kinds(row, manifest) == []
        higher = replace(manifest, procedure=replace(procedure, target_radius=1.2))
        assert kinds(replace(row, radius=1.2), higher) == [Kind.RADIUS]
        assert Kind.CONTRADICTION in kinds(replace(row, radius=0.3), manifest)


def powers(low, high):
    return st.floats(low, high).map(lambda exponent: 10**exponent)


POSITIVE = powers(-3, 1)
DIM = st.sampled_from([1, 2, 3, 36, 784, 150528]) | st.floats(1, 1e8)
CLOSE = st.just(0.0) | st.floats(-9, -1).map(lambda e: 10**e)
RATE = (
    st.just(0.0)
    | st.floats(-300, -8).map(lambda e: 10**e)
    | st.floats(-8, 1).map(lambda e: 10**e)
)
ANGLE = st.floats(-math.pi, math.pi)


def turned(sizes, first, second):
    """A map of the plane of these two singular values."""
    turns = [
        np.array([[math.cos(a), -math.sin(a)], [math.sin(a), math.cos(a)]])
        for a in (first, second)
    ]
    return (turns[0] @ np.diag(sizes) @ turns[1]).tolist()


MAPS = st.builds(turned, st.tuples(POSITIVE, POSITIVE), ANGLE, ANGLE)


@st.composite
def rows_of(draw, method):
    """Parameters of a method, a level and scores."""
    sigma, z_a = draw(POSITIVE), draw(st.floats(-1, 6))
    z_b = draw(st.none() | st.floats(0.001, 6).map(lambda gap: min(z_a - gap, -z_a)))
    floor = {
        "lip": draw(RATE),
        "sigma_min": sigma * (1 - draw(CLOSE)),
        "dim": draw(DIM),
    }
    parameters = {
        **{name: {"sigma": sigma} for name in ("laplace", "uniform")},
        "splitting": {"sigma": sigma, "levels": 255},
        "exponential": {"rate": 1 / sigma},
        "transformed": {
            "law": {"method": "gaussian", "sigma": sigma},
            "transform": "gain",
        },
        "gaussian": {"sigma": sigma, "norm": draw(st.floats(1, 9)), "dim": draw(DIM)},
        "anisotropic": {"inner": draw(POSITIVE)},
        "correlated": {"matrix": draw(MAPS)},
        "two-queries": {"sigma_1": sigma, "sigma_2": draw(POSITIVE), "dim": draw(DIM)},
        "semi-elastic": {"rate": draw(RATE), "dim": draw(DIM)},
        "lipschitz": floor,
        "range": {
            "sigma_min": sigma * (1 - draw(CLOSE)),
            "sigma_max": sigma * (1 + draw(CLOSE)),
            "dim": draw(DIM),
        },
        "generator": floor
        | {"inner": draw(POSITIVE), "mean_lip": draw(st.just(0.0) | POSITIVE)},
    }
    return parameters[method], sigma, z_a, z_b


# of all of a group, of all pairs of masks, and of a frontier: their rows have tests of
# their own
OF_ALL = ("orbit", "double-masking", "brightness-contrast")
METHODS_OF_NUMBERS = [
    name
    for name, proof in RADII.items()
    if not isinstance(proof, DiscreteProof) and name not in OF_ALL
]


@pytest.mark.parametrize("method", METHODS_OF_NUMBERS)
@settings(max_examples=40)
@given(data=st.data())
def test_what_the_kernels_certify_is_proved(method, data):
    """At every magnitude, and hardly anything more."""
    parameters, sigma, z_a, z_b = data.draw(rows_of(method))
    if method == "exponential":
        sigma = 1 / parameters["rate"]
    if method == "splitting":
        sigma = parameters["sigma"] = max(round(100 * sigma), 1) / 2
    if method in ("two-queries", "correlated"):
        sigma = METHODS[method].from_parameters(parameters).own_level
    radius = METHODS[method].from_parameters(parameters).radius(z_a, sigma, z_b)
    if not 0 < radius < math.inf or z_a - (-z_a if z_b is None else z_b) < 1e-5:
        return
    before = flint.ctx.prec
    proof = RADII[method]
    assert proof.proved(parameters, sigma, radius, z_a, z_b)
    # scores near each other leave an absolute error of a quantile or a share
    rounding = 3e-11 * radius + 1e-12 * sigma * isinstance(proof, AbsoluteProof)
    assert not proof.proved(parameters, sigma, radius + rounding, z_a, z_b)
    assert flint.ctx.prec == before


def test_no_radius_from_a_level_that_cannot_be():
    known, proved = {"rate": 1e3, "dim": 784}, RADII["semi-elastic"].proved
    assert not proved(known, 0.25, 1e300, 2.0, None)
    assert not proved(known, 0.25, math.inf, 2.0, None)
    assert not proved(known, 0.25, math.nan, 2.0, None)
    assert not proved(known, 1e-300, 1e-3, 1e5, None)


RULES = [NAMED[name] for name in ("cascade", "cohen", "gates")]


def lists(count):
    """Certificates of decision lists, by the item that decides."""
    rng = np.random.default_rng(5)
    while count:
        rule, n = RULES[rng.integers(len(RULES))], int(rng.choice([50, 1000, 100_000]))
        p = 0.95 * rng.dirichlet(
            np.full(3, rng.choice([0.3, 1.0, 5.0])), len(rule.sigmas)
        )
        p = np.column_stack([p, 1 - p.sum(axis=1)])
        select, counts = (
            np.stack([rng.multinomial(m, q)[:-1] for q in p]) for m in (60, n)
        )
        found = composite.certify_counts(
            rule, select, counts, Procedure(n=n, alpha=0.01)
        )
        if found.radius > 1e-6:
            count -= 1
            yield rule, select, n, found


def test_decision_lists_are_proved_component_by_component():
    decided = set()
    for rule, select, n, found in lists(40):
        plan = composite.internal.plan(rule, select, n, 0.01)
        numbers = {"n": n, "alpha": 0.01, "void_against": False}
        drawn = found.stage_counts
        held = ListCounts(rule, plan, drawn, **numbers)
        assert held.proves(found.item, found.radius)
        higher = found.radius * (1 + 1e-9) + 1e-8
        for item in range(len(rule.items)):
            assert not held.proves(item, higher)
        nothing = replace(held, counts=[None] * 3)
        assert not nothing.proves(found.item, found.radius)
        decided.add((len(rule.items), found.item))
    assert {(1, 0), (2, 0), (3, 0), (3, 1)} <= decided


def test_rows_of_decision_lists():
    for rule, select, n, found in lists(6):
        manifest = Manifest(
            answer={"name": "list"},
            method="composite",
            scope=found.scope,
            parameters={"rule": rule.to_dict()},
            procedure=Procedure(n0=60, n=n, alpha=0.01),
        )
        stages = Stages(
            select,
            lambda stage, found=found: np.array(found.stage_counts[stage]),
            n,
        )
        _, columns = DecisionList(rule).certify(
            stages, manifest.procedure, label=0, index=0
        )
        row = Row.of(0, 0, found, 0.1, extra=columns)
        assert kinds(row, manifest) == []
        higher = row.radius * (1 + 1e-9) + 1e-8
        assert kinds(replace(row, radius=higher), manifest) == [Kind.RADIUS]
        assert kinds(replace(row, radius=0.9 * row.radius), manifest) == [Kind.WEAK]
        for name, further in (("z_a", 1), ("p_a", 1), ("z_b", -1)):
            beyond = getattr(row, name) + further * 1e-9
            assert {*kinds(replace(row, **{name: beyond}), manifest)} == {Kind.BOUND}
        assert kinds(replace(row, extra={}), manifest) == [Kind.CONTRADICTION]
        fewer = replace(manifest, procedure=Procedure(n0=30, n=n, alpha=0.01))
        assert Kind.CONTRADICTION in kinds(row, fewer)


def topk_row():
    """A row of the best two of four classes, and its manifest."""
    answer = TopK(METHODS["gaussian"].from_parameters({"sigma": 0.5}), 2)
    procedure = Procedure(n=10_000)
    votes = Votes(
        sigma=0.5,
        select=np.array([40, 30, 20, 10]),
        counts=np.array([5000, 3500, 1000, 500]),
        n=10_000,
    )
    certificate, columns = answer.certify(votes, procedure, label=1, index=0)
    manifest = Manifest(
        answer=answer.describe(),
        method="gaussian",
        scope=certificate.scope,
        parameters={"sigma": 0.5},
        procedure=procedure,
    )
    return Row.of(0, 1, certificate, 0.1, extra=columns), manifest


def misled(choices, label):
    """Choices as a planner would make them that must not be believed."""
    first = choices[0]
    return {
        "more than half of alpha": (replace(first, parts=1), *choices[1:]),
        "the label in what is left out": (replace(first, apart=(label,), t=1),),
        "more labels than the best k leave": (replace(first, t=3),),
    }


@pytest.mark.parametrize(
    "fault",
    [
        "more than half of alpha",
        "the label in what is left out",
        "more labels than the best k leave",
    ],
)
def test_no_planner_is_believed_about_the_best_k(fault, monkeypatch):
    row, manifest = topk_row()
    assert row.radius > 0
    assert kinds(row, manifest) == []
    honest = _topk.plan

    def planner(*arguments, **numbers):
        chosen = honest(*arguments, **numbers)
        return replace(chosen, choices=misled(chosen.choices, row.label)[fault])

    monkeypatch.setattr(_topk, "plan", planner)
    assert kinds(row, manifest) != []


def test_the_planner_of_a_proof_sees_the_selection_samples_alone(monkeypatch):
    row, manifest = topk_row()
    honest = _topk.plan
    seen = []

    def planner(select, *arguments, **numbers):
        seen.append((select.tolist(), *arguments, *numbers.values()))
        return honest(select, *arguments, **numbers)

    monkeypatch.setattr(_topk, "plan", planner)
    kinds(row, manifest)
    assert seen == [([40, 30, 20, 10], 1, 2, 100, 10_000, 0.001)]


def test_no_planner_is_believed_about_a_list():
    """A plan without the item, or for another class, proves nothing: the counts make
    one class the list's answer, and no other.
    """
    for rule, select, n, found in lists(12):
        plan = composite.internal.plan(rule, select, n, 0.01)
        numbers = {"n": n, "alpha": 0.01, "void_against": False}
        plans = [replace(plan, items=())]
        for cls in range(np.shape(select)[1]):
            if cls != plan.cls:
                plans.append(replace(plan, cls=cls))
        for other in plans:
            held = ListCounts(rule, other, found.stage_counts, **numbers)
            assert not held.proves(found.item, found.radius)
