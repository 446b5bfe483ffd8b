"""Which object proves what: what is proven, asserted, or another package's."""

import hashlib
import importlib.metadata

import numpy as np
import pytest
from result_table import RULE

from rsbounds import schemes, trust
from rsbounds._numerics import registry
from rsbounds._numerics.errors import ArgumentError
from rsbounds.certificate import (
    ANOTHERS,
    ASSERTED_ENVELOPE,
    FIXED_NOISE,
    PROVEN_ENVELOPE,
    PROVEN_MAPS,
    THIS_INPUT,
)
from rsbounds.cli import main
from rsbounds.composite import Rule
from rsbounds.schemes import METHODS, Scheme
from rsbounds.semielastic import KNNSigma
from rsbounds.trust.internal import Proves, enter, refuse

POINTS = np.random.default_rng(0).standard_normal((30, 36))


def neighbours(kind=KNNSigma):
    return kind(POINTS, 0.3, 0.1, 5, "mean")


class Stated(Scheme):
    """Any name, parameters and scope; a radius that no theorem gives."""

    def __init__(self, name, parameters, scope=FIXED_NOISE, level=0.25):
        self.name = name
        super().__init__(parameters, level=lambda x: level)
        self.scope = scope

    def radius(self, z_a, sigma, z_b=None):
        return 100.0


def test_neighbours_prove_their_rate():
    scheme = trust.scheme_of(neighbours(), 36)
    assert (scheme.name, scheme.scope) == ("semi-elastic", PROVEN_ENVELOPE)
    assert scheme.parameters["rate"] == 0.1
    assert scheme.parameters["anchors"] == hashlib.sha256(POINTS.tobytes()).hexdigest()
    assert {"sigma", "k", "shift"} <= scheme.parameters.keys()
    assert "slack" not in scheme.parameters
    assert trust.scheme_of(neighbours(), 36).on_grid().parameters["slack"] > 0


def test_a_subclass_proves_nothing():
    class Mine(KNNSigma):
        def sigma(self, x):
            return 0.3

    class Rate(KNNSigma):
        rate = 0.0

    for kind in (Mine, Rate):
        with pytest.raises(ValueError, match=rf"certifies.*{kind.__name__}"):
            trust.scheme_of(neighbours(kind), 36)


def test_an_instance_with_a_function_of_its_own_is_asserted():
    knn = neighbours()
    knn.sigma = lambda x: 0.3
    assert trust.scheme_of(knn, 36).scope == ASSERTED_ENVELOPE


def test_the_parameters_of_neighbours_can_not_be_put_in_their_place():
    with pytest.raises(AttributeError):
        neighbours().parameters = {"anchors": "0" * 64}


@pytest.mark.parametrize(
    ("name", "parameters", "scope"),
    [
        ("gaussian", {"sigma": 0.25}, FIXED_NOISE),
        ("lipschitz", {"lip": 0.1, "sigma_min": 0.2, "dim": 36}, ASSERTED_ENVELOPE),
        ("semi-elastic", {"rate": 0.1, "dim": 36}, ASSERTED_ENVELOPE),
        ("range", {"sigma_min": 0.2, "sigma_max": 1, "dim": 36}, ASSERTED_ENVELOPE),
    ],
)
@pytest.mark.parametrize("claimed", [PROVEN_ENVELOPE, FIXED_NOISE, ANOTHERS])
def test_a_scheme_is_taken_at_its_parameters(name, parameters, scope, claimed):
    """Neither its radius nor the scope that it claims is."""
    scheme = trust.scheme_of(Stated(name, parameters, claimed), 36)
    assert type(scheme) is METHODS[name]
    assert scheme.scope == scope
    assert scheme.radius(2.0, 0.25) < 1


def test_a_level_that_was_chosen_for_one_input_stays_one():
    scheme = trust.scheme_of(schemes.this_input(0.5), 36)
    assert scheme.scope == THIS_INPUT


def test_a_norm_is_taken_with_the_dimension_of_the_inputs():
    stated = Stated("gaussian", {"sigma": 0.25, "norm": np.inf, "dim": 100})
    assert trust.scheme_of(stated, 36).parameters["dim"] == 36
    with pytest.raises(ValueError, match=r"dim must.*101"):
        trust.scheme_of(stated, 101)


def test_a_scheme_of_another_theory_is_another_packages():
    stated = Stated("thirds", {"sigma": 0.25}, PROVEN_ENVELOPE)
    scheme = trust.scheme_of(stated, 36)
    assert (scheme.name, scheme.scope) == ("thirds", ANOTHERS)
    assert stated.scope == PROVEN_ENVELOPE  # a copy was changed
    assert scheme.radius(2.0, 0.25) == 100.0
    stated.norm = 0.5
    with pytest.raises(ValueError, match=r"norm must.*inf"):
        trust.scheme_of(stated, 36)


@pytest.mark.parametrize("name", ["", "two\nlines", None])
def test_a_method_without_a_name_is_refused(name):
    with pytest.raises(ValueError, match=r"method.*name"):
        trust.scheme_of(Stated(name, {}), 36)


@pytest.mark.parametrize("name", ["anisotropic", "generator", "composite"])
def test_what_parameters_do_not_make_is_refused(name):
    with pytest.raises(ValueError, match=r"return.*scheme"):
        trust.scheme_of(Stated(name, {}), 36)


def test_a_rule_is_itself():
    rule = Rule.from_dict(RULE)
    assert trust.scheme_of(rule, 36) is rule


def network(kind):
    torch = pytest.importorskip("torch")
    net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(36, 1))
    return kind(net, 0.25)


def test_networks_and_noise_of_this_package_prove_their_bounds():
    torch = pytest.importorskip("torch")
    from rsbounds.torch import CertifiedGenerator, FixedNoise, Scale, SigmaNetwork

    net = network(SigmaNetwork)
    ones = torch.ones(1, 6, 6)
    for made, scope in (
        (net, PROVEN_ENVELOPE),
        (CertifiedGenerator(Scale(0.1), net, ones), PROVEN_MAPS),
        (FixedNoise(0 * ones, ones), FIXED_NOISE),
    ):
        assert trust.scheme_of(made, 36).scope == scope

    class Louder(SigmaNetwork):
        def scheme(self, dim):
            return Stated("lipschitz", {}, PROVEN_ENVELOPE)

    class Quieter(FixedNoise):
        pass

    louder = network(Louder)
    for made in (louder, Quieter(0 * ones, ones), net.h):
        with pytest.raises(ValueError, match="certifies"):
            trust.scheme_of(made, 36)
    assert trust.noise_of(Quieter(0 * ones, ones)) is None
    # as a function of levels a subclass has the proof of its kind
    assert trust.network_of(louder).scheme(36).parameters["lip"] > 0
    assert trust.network_of(net).scheme(36).scope == PROVEN_ENVELOPE
    assert trust.network_of(net.h) is None


LEVEL = schemes.Option("sigma", "noise level")


class Halved(Scheme):
    name = "halved"
    scope = PROVEN_ENVELOPE
    declared = (schemes.Parameter("sigma", option=LEVEL, input=LEVEL),)

    def sigma(self, x):
        return self.parameters["sigma"]

    def radius(self, z_a, sigma, z_b=None):
        return max(sigma * z_a / 2, 0.0)

    @classmethod
    def evaluate(cls, options, p_a, p_b, scores):
        return options["sigma"] * p_a / 2

    @classmethod
    def from_options(cls, options, given):
        scheme = cls({"sigma": options["sigma"]}, proven=True)
        scheme.scope = FIXED_NOISE
        return scheme


@pytest.fixture
def installed(monkeypatch):
    """Entry points of other packages, as values of this file."""

    def install(**entries):
        points = {
            name: importlib.metadata.EntryPoint(
                name, f"{__name__}:{value}", "rsbounds.schemes"
            )
            for name, value in entries.items()
        }
        monkeypatch.setattr(registry, "installed", lambda group: points)
        monkeypatch.setattr(METHODS, "_loaded", {})

    return install


def test_a_method_of_another_package_is_another_packages(installed):
    assert Halved({"sigma": 1.0}, proven=True).scope == ANOTHERS
    assert Halved.from_parameters({"sigma": 1.0}, proven=True).scope == ANOTHERS
    installed(halved="Halved")
    assert METHODS["halved"] is Halved
    scheme = trust.by_name("halved", {"sigma": 0.5}, None)
    assert (scheme.scope, scheme.parameters) == (ANOTHERS, {"sigma": 0.5})
    assert trust.scheme_of(scheme, 36).scope == ANOTHERS


def test_the_command_line_knows_methods_of_other_packages(installed, capsys):
    installed(halved="Halved", broken="no_such_class")
    words = ["radius", "halved", "--score", "2", "--sigma", "0.5"]
    assert main(words) == 0
    assert capsys.readouterr().out == "0.5 halved score=2.0 sigma=0.5\n"
    # another package's broken entry harms nobody who doesn't name it
    assert main(["radius", "gaussian", *words[2:]]) == 0
    assert main(["radius", "broken", *words[2:]]) == 2
    assert "of rsbounds.schemes" in capsys.readouterr().err


def test_what_is_no_scheme_is_no_entry(installed):
    installed(**{"POINTS": "POINTS", "a:b": "Halved", "other": "Halved"})
    with pytest.raises(ValueError, match="subclass"):
        METHODS["POINTS"]
    with pytest.raises(ValueError, match=r"name.*'halved'"):
        METHODS["other"]
    with pytest.raises(KeyError):
        METHODS["fourth"]


def test_code_is_named_in_errors(tmp_path, monkeypatch):
    (tmp_path / "made.py").write_text("def scheme(a=3): return a\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        ArgumentError, match=r"made.py:scheme: what certifies"
    ) as raised:
        trust.by_code("made.py:scheme", None, 36)
    assert raised.value.name == "method"


def test_a_class_of_another_package_enters_no_proof():
    class Mine:
        pass

    with pytest.raises(ArgumentError, match="kind must be a class of rsbounds"):
        enter(Mine, Proves(scheme=lambda made, shape, sound: None))
    with pytest.raises(ArgumentError, match="kind must be a class of rsbounds"):
        refuse(Mine, "no")
    assert trust.noise_of(Mine()) is None
