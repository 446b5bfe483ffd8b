"""Every entry of the three lists against the suite of its kind, a line an entry; and
entries that are wrong fail, by name.
"""

import math
from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest
from cases import slow_among, slow_but
from claims import Claims, medians, positions, wrong_position
from listed_schemes import GAUSSIAN, KNN, SCHEMES, cone
from scipy.special import ndtr, ndtri

from rsbounds import schemes
from rsbounds.answers import ANSWERS, DecisionList, Flag, Maps, TopClass, TopK, Values
from rsbounds.answers._answer import Answered
from rsbounds.composite import Cond, Rule
from rsbounds.confidence import BOUNDS
from rsbounds.noises.internal import NormalNoise
from rsbounds.oracle import list_radius
from rsbounds.schemes import METHODS
from rsbounds.testing import check_answer, check_bound, check_scheme

RULE = Rule([0.5, 0.25], [[Cond("score", 0, 0.1)], [Cond("margin", 1)]])


#: Those that the oracle takes seconds for, in ball arithmetic, or that are exported.
LONG = ["semi-elastic", "semi-elastic, sound", "lipschitz", "range", "anisotropic"]
LONG += ["generator", "orbit", "mask", "uniform", "exponential"]
# Exact curves like those of flips and categorical noise, which stay quick.
LONG += ["blocks", "blocks of numbers and values", "deletion", "mask of any length"]
LONG += ["transformed by a law of one side"]


@pytest.mark.parametrize("name", slow_among(LONG, SCHEMES))
def test_a_scheme_holds_what_every_scheme_promises(name):
    scheme, options = SCHEMES[name]()
    check_scheme(scheme, **options)


# --- what claims of answers mean


def moved(share, radii):
    """What a share becomes under Gaussian noise of level .5."""
    z = ndtri(share)
    return ndtr(z - radii / 0.5), ndtr(z + radii / 0.5)


CLAIMS = Claims(moved, np.linspace(0.0, 3.0, 3001).tolist(), step=0.001)


@cache
def largest_list_radius(scores, label):
    return float(list_radius(RULE.to_dict(), scores, label, dps=15))


def another_list(answered, label, probabilities):
    """Whether a certificate of the decision list is more than the truth."""
    certificate = answered.certificate
    if not certificate.radius:
        return False
    scores = tuple(tuple(ndtri(p).tolist()) for p in probabilities)
    if np.isinf(scores).any():
        return False  # which the formulas in mpmath don't take
    truth = largest_list_radius(scores, certificate.predict)
    return certificate.radius > truth * (1 + 1e-9)


def two_classes(batch):
    batch = np.asarray(batch) - 0.5
    return np.stack([batch, -batch], axis=1)


ANSWER = {
    "class": (TopClass(GAUSSIAN), {}),
    "class, Cohen's": (TopClass(GAUSSIAN), {"numbers": {"runner_up": False}}),
    "class under Lipschitz noise": (
        TopClass(schemes.lipschitz(cone, 0.1, 0.3, 4)),
        {},
    ),
    "top-k, 1": (TopK(GAUSSIAN, 1), {"wrong": partial(CLAIMS.outside_the_best, 1)}),
    "top-k": (
        TopK(GAUSSIAN, 2),
        {"wrong": partial(CLAIMS.outside_the_best, 2), "options": {"k": 2}},
    ),
    "list": (DecisionList(RULE), {"kinds": 2, "wrong": another_list}),
    "values": (
        Values(GAUSSIAN, [0.0, 0.1]),
        {
            "options": {"radii": (0.0, 0.1), "quantile": 0.5},
            "wrong": partial(CLAIMS.outside_the_interval, (0.0, 0.1)),
            "returned": medians,
        },
    ),
    "maps": (
        Maps(GAUSSIAN, 0.6),
        {
            "options": {"tau": 0.6},
            "model": two_classes,
            "kinds": 4,
            "wrong": partial(wrong_position, 0.6),
            "returned": positions,
        },
    ),
    **{
        f"flag, {threshold:g}": (
            Flag(GAUSSIAN, threshold, flagged=0),
            {
                "options": {
                    "threshold": threshold,
                    "flagged": "0",
                    "calibrate": None,
                    "share": None,
                },
                "wrong": partial(CLAIMS.another_flag, threshold),
            },
        )
        for threshold in (0.05, 0.5, 0.9)
    },
}


@pytest.mark.filterwarnings("ignore:10 samples can't show")
@pytest.mark.parametrize(
    "name",
    slow_among(
        [
            "list",
            "maps",
            "top-k",
            "values",
            "class, Cohen's",
            "flag, 0.05",
            "flag, 0.9",
        ],
        ANSWER,
    ),
)
def test_an_answer_holds_what_every_answer_promises(name):
    answer, options = ANSWER[name]
    check_answer(answer, **options)


@pytest.mark.parametrize("name", slow_among(["betting", "chernoff"], BOUNDS))
def test_a_bound_holds_what_every_bound_promises(name):
    check_bound(BOUNDS[name])


def test_every_entry_has_its_line():
    def named(lines):
        return {name.partition(",")[0].partition(" ")[0] for name in lines}

    # a decision list's noise has no radius of its own
    assert named(SCHEMES) == {*METHODS} - {"composite"}
    assert named(ANSWER) == set(ANSWERS)


# --- entries that are wrong fail, and the message names the property


class Stretched(schemes.Gaussian):
    """A radius that is too large by a share."""

    share = 0.01

    def radius(self, z_a, sigma, z_b=None):
        return (1 + self.share) * super().radius(z_a, sigma, z_b)


class HardlyStretched(Stretched):
    share = 1e-9


class StretchedAround(schemes.SemiElasticScheme):
    """A radius that is too large, and yet below Cohen's."""

    def radius(self, z_a, sigma, z_b=None):
        return (1.01 if z_a > 1.5 else 1) * super().radius(z_a, sigma, z_b)


class Cut(schemes.Gaussian):
    """A transport that forgets a hundredth of the way."""

    def transport(self, z, radius, sigma=None):
        return super().transport(z, np.asarray(radius) * 0.99, sigma)


class Backwards(METHODS["exponential"]):
    """One-sided noise whose transport is taken for its own inverse."""

    def inverse(self, z, radius, sigma=None):
        return self.transport(z, radius, sigma)


class Quiet(schemes.Gaussian):
    """Samples of half of the noise that the radius is for."""

    @property
    def drawn(self):
        return HalfNoise()


class HalfNoise(NormalNoise):
    """Half of the noise that it is asked for."""

    def noisy(self, x, sigma, size, bits):
        return super().noisy(x, sigma / 2, size, bits)


class Forgetful(schemes.Gaussian):
    """What a manifest holds gives another radius."""

    bonus = 0.0

    def radius(self, z_a, sigma, z_b=None):
        return super().radius(z_a, sigma, z_b) / (1 + self.bonus)


class Unfounded(schemes.Gaussian):
    """A NaN that becomes a radius."""

    def radius(self, z_a, sigma, z_b=None):
        radius = super().radius(z_a, sigma, z_b)
        return 0.1 if math.isnan(radius) else radius


class Lax(schemes.Gaussian):
    """Parameters that nothing checks."""

    @classmethod
    def check(cls, parameters):
        pass


class OneMore(METHODS["categorical"]):
    """A change more than is certified, and a transport that forgets it."""

    def radius(self, z_a, sigma, z_b=None):
        return super().radius(z_a, sigma, z_b) + (z_a > (-z_a if z_b is None else z_b))


class Between(METHODS["categorical"]):
    """Half a change."""

    def radius(self, z_a, sigma, z_b=None):
        return super().radius(z_a, sigma, z_b) / 2


class Nearer(METHODS["categorical"]):
    """A transport that forgets one of the changes."""

    def transport(self, z, radius, sigma=None):
        return super().transport(z, np.maximum(np.asarray(radius) - 1.0, 0.0), sigma)


class Falling(schemes.Gaussian):
    """A radius that sinks for the surest."""

    def radius(self, z_a, sigma, z_b=None):
        radius = super().radius(z_a, sigma, z_b)
        return min(radius, 1 / max(radius, 1.0))


def forgetful():
    scheme = Forgetful({"sigma": 0.5})
    scheme.bonus = 1.0
    return scheme


def steeper(x):
    return 0.3 + 0.3 * float(np.linalg.norm(np.asarray(x, dtype=np.float64) - 0.6))


WRONG_SCHEMES = {
    "1 % too large": (lambda: Stretched({"sigma": 0.5}), "No half-space changes"),
    "1e-9 too large": (lambda: HardlyStretched({"sigma": 0.5}), "No half-space"),
    "1 % too large, level by level": (
        lambda: StretchedAround(
            {"rate": 0.5, "dim": 4}, level=partial(semielastic_level, KNN)
        ),
        "The radius is at most that of an independent evaluation",
    ),
    "steeper than it says": (
        lambda: schemes.lipschitz(steeper, 0.0, 0.3, 4),
        "No classifier changes the class at an input nearby",
    ),
    "transport cut": (lambda: Cut({"sigma": 0.5}), "No half-space moves a score"),
    "no inverse of its transport": (
        lambda: Backwards({"rate": 2.0}),
        "The inverse goes no further back than transport came",
    ),
    "half of the noise": (lambda: Quiet({"sigma": 0.5}), "as often as the law"),
    "not its parameters": (forgetful, "from_parameters gives the same radii"),
    "a radius of NaN": (lambda: Unfounded({"sigma": 0.5}), "NaN earns no radius"),
    "any parameters": (lambda: Lax({"sigma": 0.5}), "out of its domain is named"),
    "a change too many": (
        lambda: OneMore({"keep": 0.8, "values": 4}),
        "Within the radius the intervals of both scores do not cross",
    ),
    "half a change": (
        lambda: Between({"keep": 0.8, "values": 4}),
        "counts changes is a whole number",
    ),
    "a change that is forgotten": (
        lambda: Nearer({"keep": 0.8, "values": 4}),
        "Within the radius|a few changes|Two steps",
    ),
    "falling": (lambda: Falling({"sigma": 0.5}), "does not fall where z_a rises"),
    "no pickle": (
        lambda: schemes.lipschitz(lambda x: 0.35, 0.1, 0.3, 4),
        "A worker gets the same scheme",
    ),
}


def semielastic_level(knn, x):
    return float(knn.sigma(np.asarray(x, dtype=np.float64).reshape(1, -1))[0])


@pytest.mark.parametrize(
    "name", slow_among(["1 % too large, level by level"], WRONG_SCHEMES)
)
def test_a_wrong_scheme_fails(name):
    make, property_named = WRONG_SCHEMES[name]
    scheme = make()
    counted = {"x": [3, 0, 1, 2, 3]} if scheme.whole else {}
    with pytest.raises(AssertionError, match=property_named):
        check_scheme(scheme, **counted)


def changed(name, **changes):
    """A bound of the list with another function."""
    bound = BOUNDS[name]
    return replace(bound, name=f"other {name}", **changes)


def at_twice_alpha(name):
    exact = BOUNDS[name]

    def lower(evidence, n, alpha):
        return exact.lower(evidence, n, min(2 * alpha, exact.most_alpha))

    return changed(name, lower=lower)


def shifted(name, by):
    """A bound of so many more successes than there were."""
    exact = BOUNDS[name]

    def lower(evidence, n, alpha):
        return exact.lower(np.minimum(evidence + by, n), n, alpha)

    return changed(name, lower=lower)


def without_sides(name):
    """A score of the nearest number, where it must be rounded down."""
    exact = BOUNDS[name]

    def lower(evidence, n, alpha):
        end = exact.lower(evidence, n, alpha)
        return end._replace(z=end.z + 1e-12 * abs(end.z))

    return changed(name, lower=lower)


WRONG_BOUNDS = {
    "Clopper-Pearson at 2 alpha": (at_twice_alpha("clopper-pearson"), "It errs with"),
    "anytime at 2 alpha": (at_twice_alpha("anytime"), "It errs with"),
    "Chernoff at 2 alpha": (at_twice_alpha("chernoff"), "It errs with"),
    "one success more": (shifted("clopper-pearson", 1), "No success shows nothing"),
    "rounded to nearest": (
        without_sides("clopper-pearson"),
        "rounded to the safe side",
    ),
    "a fixed number, looked at often": (
        changed("clopper-pearson", at_any_time=True),
        "Looked at after every sample",
    ),
}


@pytest.mark.parametrize("name", WRONG_BOUNDS)
def test_a_wrong_bound_fails(name):
    bound, property_named = WRONG_BOUNDS[name]
    with pytest.raises(AssertionError, match=property_named):
        check_bound(bound)


def twice_alpha(answer):
    """An answer that errs twice as often as it says."""

    def certify(self, evidence, procedure, **about):
        wider = replace(procedure, alpha=2 * procedure.alpha)
        return type(answer).certify(self, evidence, wider, **about)

    return certify


def stretched(self, evidence, procedure, **about):
    certificate, columns = TopClass.certify(self, evidence, procedure, **about)
    return Answered(replace(certificate, radius=1.01 * certificate.radius), columns)


def counting(self, evidence, procedure, **about):
    certificate, columns = TopClass.certify(self, evidence, procedure, **about)
    self.asked = getattr(self, "asked", 0) + 1
    return Answered(
        replace(certificate, radius=certificate.radius / self.asked), columns
    )


def consuming(self, evidence, procedure, **about):
    answered = TopClass.certify(self, evidence, procedure, **about)
    evidence.counts[:] = 0
    return answered


def tabbed(self, evidence, procedure, **about):
    certificate, _ = TopClass.certify(self, evidence, procedure, **about)
    return Answered(certificate, {"remark": "two\twords"})


def falling(self, evidence, procedure, **about):
    certificate, columns = TopClass.certify(self, evidence, procedure, **about)
    cut = min(certificate.radius, 0.1 / max(certificate.radius, 0.1) * 0.1)
    return Answered(replace(certificate, radius=cut), columns)


def first_alone(self, row):
    return replace(TopClass.stored(self, row), counts=np.array(row.counts[:1]))


WRONG_ANSWERS = {
    "2 alpha": ({"certify": twice_alpha(TopClass(GAUSSIAN))}, "Whatever was selected"),
    "1 % too far": ({"certify": stretched}, "Whatever was selected"),
    "a memory": ({"certify": counting}, "manifest holds all|Certifying is pure"),
    "evidence consumed": ({"certify": consuming}, "Certifying is pure"),
    "tabs in a cell": (
        {"certify": tabbed, "columns": ("remark",)},
        "It fills its own columns",
    ),
    "a column that is not its own": ({"certify": tabbed}, "It fills its own columns"),
    "less for more votes": ({"certify": falling}, "does not lower the radius"),
    "evidence cut": ({"stored": first_alone}, "What a row holds of its samples"),
    "one fingerprint for all": (
        {"fingerprint": lambda self, draws, procedure: [1, 2]},
        "Its fingerprint is always the same",
    ),
    "a name missing": ({"describe": lambda self: {}}, "A manifest holds all"),
    "columns of every file": ({"columns": ("radius",)}, "It can stand in the list"),
}


class Impostor(TopClass):
    """Not the entry of the list: nothing takes it for one."""

    name = "impostor"


@pytest.mark.parametrize("name", WRONG_ANSWERS)
def test_a_wrong_answer_fails(name):
    changes, property_named = WRONG_ANSWERS[name]
    wrong = type("Wrong", (Impostor,), changes)
    with pytest.raises(AssertionError, match=property_named):
        # one bound alone uses all of alpha: of the runner-up's half some is never used
        check_answer(wrong(GAUSSIAN), numbers={"runner_up": False})


@pytest.mark.parametrize(
    "name", slow_but(["values"], ["top-k", "values", "maps", "list"])
)
def test_levels_of_the_other_answers_are_seen(name):
    """At twice alpha, and some for the union that several claims pay for, they fail."""
    answer, options = ANSWER[name]
    kind = type(answer)

    class Twice(kind):
        name = "impostor"

        def certify(self, evidence, procedure, **about):
            wider = replace(procedure, alpha=min(3 * procedure.alpha, 0.99))
            return super().certify(evidence, wider, **about)

    wrong = Twice.__new__(Twice)
    wrong.__dict__.update(vars(answer))
    with pytest.raises(AssertionError, match="Whatever was selected"):
        check_answer(wrong, **options)


def test_what_is_no_entry_at_all_fails():
    for check in (check_scheme, check_answer, check_bound):
        with pytest.raises(AssertionError, match="must be a"):
            check("gaussian")
