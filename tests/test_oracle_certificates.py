"""The oracle's own evaluation of each method that writes rows."""

from math import inf

import numpy as np
import pytest

from rsbounds import audit, certify_dataset, schemes
from rsbounds.audit import _bounds, _lists, _radii
from rsbounds.certificate import SCOPES
from rsbounds.cli._options import COUNTED
from rsbounds.oracle import certificates

SIGMA = {"lip": 0.05, "sigma_min": 0.1, "dim": 3}
SHAPED = {"lip": 0.01, "sigma_min": 0.1, "mean_lip": 0.5, "inner": 0.3, "dim": 3}
# the largest radius at sigma = 1/4 and z_a = 1.5, by the roots of `oracle.envelope_branches`
TRUTH = [
    ("gaussian", {"sigma": 0.25, "norm": inf, "dim": 3}, None, "0.21650635094610966169"),
    ("anisotropic", {"inner": 0.3}, -2.5, "0.14999999999999999445"),
    ("semi-elastic", {"rate": 0.01, "dim": 3}, None, "0.37499530082813209195"),
    ("lipschitz", SIGMA, -2.5, "0.49742428754431618527"),
    ("range", {"sigma_min": 0.2499, "sigma_max": 0.2501, "dim": 3}, None, "0.37499994665954709834"),
    ("generator", SHAPED, -2.5, "0.099991072068956292702"),
]


def test_every_method_and_bound_of_result_files_has_its_evaluations():
    assert set(schemes.METHODS) == set(certificates.METHODS)
    proved = {
        "gaussian",
        "semi-elastic",
        "lipschitz",
        "range",
        "anisotropic",
        "generator",
        "composite",
    }
    assert set(schemes.METHODS) >= {*_radii.COVERED, "composite"} == proved
    assert {method.scope for method in schemes.METHODS.values()} <= set(SCOPES)
    assert set(_bounds.BOUNDS) == set(certificates.BOUNDS) == set(COUNTED)
    assert callable(_lists.proved)


def test_a_method_without_a_proof_is_refused_in_one_line(monkeypatch, tmp_path):
    """Each of its rows was a finding of its own."""
    x, y = np.eye(3, dtype=np.float32), np.arange(3)
    scheme = schemes.gaussian(0.25)
    certify_dataset(lambda batch: batch, (x, y), scheme, n=100, out=tmp_path / "out.tsv")
    assert not audit.verify(tmp_path / "out.tsv").findings
    monkeypatch.setattr("rsbounds.audit._verify.COVERED", ("lipschitz",))
    with pytest.raises(ValueError, match="is of method 'gaussian', which nothing here can prove"):
        audit.verify(tmp_path / "out.tsv")


@pytest.mark.parametrize(("method", "parameters", "z_b", "truth"), TRUTH)
def test_the_sign_at_the_truth(method, parameters, z_b, truth):
    """The oracle's excess and the audit's proof change there, and nowhere else."""
    for step in (1e-3, 1e-12, -1e-12):
        options = (method, parameters, 0.25, float(truth) * (1 + step), 1.5, z_b)
        assert (certificates.excess(*options) > 0) == (step > 0)
        assert _radii.proved(*options) == (step < 0)
