"""Noise that code of the user's own draws is asserted, and certificates say so."""

import json

import numpy as np
import pytest
from listed_schemes import SCHEMES, generated, shaped

from rsbounds import certify_dataset, reports, results, schemes
from rsbounds.answers import DecisionList, TopClass
from rsbounds.audit import verify
from rsbounds.certificate import (
    ANOTHERS,
    ASSERTED_ENVELOPE,
    ASSERTED_GROUP,
    FIXED_NOISE,
    SCOPES,
    asserts_noise,
    with_asserted_noise,
    without_asserted_noise,
)
from rsbounds.certify import certify
from rsbounds.cli import main
from rsbounds.composite import Cond, Rule
from rsbounds.noises.grid_noise import OnGrid
from rsbounds.noises.internal import NormalNoise
from rsbounds.sampling import ArraySampler, SoftSampler, as_sampler
from rsbounds.sampling.known import draws_known_noise
from rsbounds.transforms import TRANSFORMS

X = np.array([[0.9, 0.0], [-0.8, 0.1], [1.2, 0.3]], np.float32)
Y = np.array([0, 1, 0])
SCHEME = schemes.gaussian(0.5)
ASSERTED = with_asserted_noise(FIXED_NOISE)


def model(batch):
    return np.stack([batch[:, 0], -batch[:, 0]], axis=1)


def uniform(x, sigma, n, generator):
    """Noise of the right variance, whose radius is false."""
    noise = sigma * np.sqrt(3) * generator.uniform(-1, 1, n)
    first = int((x[0] + noise > 0).sum())
    return [first, n - first]


class Wider(NormalNoise):
    def noisy(self, x, sigma, size, bits):
        return super().noisy(x, 2 * sigma, size, bits)


class Louder(ArraySampler):
    def __call__(self, x, sigma, n, generator):
        return super().__call__(x, 2 * sigma, n, generator)


def replaced():
    sampler = ArraySampler(model, noise=NormalNoise())
    sampler.noise.noisy = lambda x, sigma, size, bits: np.repeat(x[None], size, 0)
    return sampler


OWN = {
    "function": uniform,
    "noise": ArraySampler(model, noise=Wider()),
    "subclass": Louder(model),
    "replaced": replaced(),
}


@pytest.mark.parametrize("name", OWN)
def test_a_law_that_code_of_ones_own_draws_is_asserted(name):
    certificate = certify(OWN[name], X[0], SCHEME, n=200)
    assert certificate.scope == ASSERTED
    assert not SCOPES[ASSERTED].valid
    assert "was given and not proven" in SCOPES[ASSERTED].footnote


def test_noise_that_this_package_draws_is_not_asserted():
    torch = pytest.importorskip("torch")
    mask = schemes.mask(9, 1)
    for given, x, scheme in (
        (model, X[0], SCHEME),
        (ArraySampler(model), X[0], SCHEME),
        (ArraySampler(model, noise=NormalNoise()), X[0], SCHEME),
        (ArraySampler(model, noise=OnGrid()), X[0] * 0 + 1, SCHEME),
        (torch.nn.Linear(2, 2), torch.zeros(2), SCHEME),
        (as_sampler(model, schemes.mask(9, 1)), np.arange(9), mask),
        (as_sampler(model, schemes.laplace(0.5)), X[0], schemes.laplace(0.5)),
    ):
        assert certify(given, x, scheme, n=100).scope == FIXED_NOISE
    assert draws_known_noise(SoftSampler(model))


@pytest.mark.parametrize("name", SCHEMES)
def test_the_noise_of_each_scheme_is_known(name):
    scheme, how = SCHEMES[name]()
    if "sampler" in how:
        assert draws_known_noise(how["sampler"](model))
    else:
        assert draws_known_noise(ArraySampler(model, noise=scheme.drawn))


@pytest.mark.parametrize("made", [shaped, generated])
def test_noise_of_a_shape_is_known_but_that_of_a_subclass(made):
    torch = pytest.importorskip("torch")
    noise = made()
    net = torch.nn.Linear(4, 2)
    assert draws_known_noise(as_sampler(net, noise.scheme()))
    own = type("Own", (type(noise),), {"__module__": "own"})
    object.__setattr__(noise, "__class__", own)
    assert not draws_known_noise(as_sampler(net, noise.scheme()))


def test_a_group_of_ones_own_is_asserted_once():
    class Own(type(TRANSFORMS["brightness"])):
        name = "own"

    scheme = schemes.transformed(schemes.gaussian(0.5), Own())
    assert scheme.scope == ASSERTED_GROUP
    assert certify(model, X[0], scheme, n=100).scope == ASSERTED_GROUP
    # the law is told by a name alone, which another transformation may have
    other = schemes.transformed(schemes.gaussian(0.5), Own())
    scope = certify(as_sampler(model, other), X[0], scheme, n=100).scope
    assert scope == with_asserted_noise(ASSERTED_GROUP)


def test_what_else_is_asserted_stays_in_scope_and_footnote():
    scheme = schemes.lipschitz(lambda _: 0.5, 0.01, 0.4, 2)
    scope = certify(uniform, X[0], scheme, n=100).scope
    assert scope == with_asserted_noise(ASSERTED_ENVELOPE)
    assert SCOPES[ASSERTED_ENVELOPE].footnote in SCOPES[scope].footnote
    assert without_asserted_noise(scope) == ASSERTED_ENVELOPE
    for one in SCOPES:
        assert with_asserted_noise(with_asserted_noise(one)) in SCOPES
        assert SCOPES[one].valid <= (not asserts_noise(one))


@pytest.mark.parametrize("of", ["scheme", "answer"])
def test_a_method_replaced_on_an_object_is_not_rsbounds(of):
    scheme = schemes.gaussian(0.5)
    answer = TopClass(scheme)
    if of == "scheme":
        scheme.radius = lambda z_a, z_b, sigma: 99.0
    else:
        answer.certify = TopClass(schemes.gaussian(0.5)).certify
    run = certify_dataset(model, (X, Y), answer, n=100)
    assert {row.scope for row in run.rows} == {ANOTHERS}


def test_a_rule_that_may_decide_otherwise_is_refused():
    class Own(Rule):
        pass

    rule = Own([0.5], [[Cond("score", 0)]])
    with pytest.raises(ValueError, match=r"rule must be a Rule, of no subclass"):
        DecisionList(rule)


# --- in files


def written(tmp_path, sampler=uniform):
    out = tmp_path / "out.tsv"
    certify_dataset(sampler, (X, Y), SCHEME, n0=50, n=200, out=out)
    return out


def test_rows_manifest_report_and_card_say_that_a_law_is_asserted(tmp_path):
    out = written(tmp_path)
    assert {row.scope for row in results.internal.read_rows(out)} == {ASSERTED}
    assert results.Manifest.read(out).scope == ASSERTED
    assert SCOPES[ASSERTED].footnote in str(reports.table([results.read(out)]))
    scope = reports.card(results.read(out))["scope"]
    assert scope["text"] == ASSERTED
    assert scope["valid"] is False
    assert scope["footnote"] == SCOPES[ASSERTED].footnote


def test_verify_lists_an_asserted_sampler_as_stated(tmp_path, capsys):
    audit = verify(written(tmp_path))
    assert audit.findings == ()
    assert "sampler" in audit.stated
    redrawn = verify(written(tmp_path), data=(X, Y), model=uniform, rerun=3)
    assert redrawn.findings == ()
    assert "sampler" in redrawn.stated  # drawn again alike, by the same code
    main(["verify", str(written(tmp_path))])
    assert "sampler" in capsys.readouterr().out


def test_a_file_that_hides_an_asserted_sampler_is_found_by_its_model(tmp_path):
    out = written(tmp_path)
    out.write_text(out.read_text().replace(ASSERTED, FIXED_NOISE))
    place = results.internal.manifest_path(out)
    manifest = json.loads(place.read_text())
    place.write_text(json.dumps(manifest | {"scope": FIXED_NOISE}))
    found = verify(out, data=(X, Y), model=uniform, rerun=3).findings
    assert any("draws noise of its own" in finding.text for finding in found)


def test_recertified_rows_stay_asserted(tmp_path):
    out, again = written(tmp_path), tmp_path / "again.tsv"
    main(["recertify", str(out), "--out", str(again), "--alpha", "0.01"])
    assert {row.scope for row in results.internal.read_rows(again)} == {ASSERTED}
    assert results.Manifest.read(again).scope == ASSERTED
