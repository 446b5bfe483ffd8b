"""Brightness and contrast together: the bound against mpmath, against brute force in
two dimensions, and against classifiers that reach it; what noise, rows and proofs say.
"""

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from rsbounds import audit, certify_dataset, gaussian, oracle, results, schemes
from rsbounds.audit.schemes import RADII
from rsbounds.certificate import PARAMETER
from rsbounds.certify import certify
from rsbounds.cli import main
from rsbounds.confidence import lower_bound
from rsbounds.sampling import as_sampler

SPREAD = 0.4
PROOF = RADII["brightness-contrast"]
#: All of 100,000 samples at alpha .001
FULL = float(lower_bound(100_000, 100_000, 0.001, scores=True))


def radius(z_a, spread=SPREAD, z_b=None, contrast=0.0):
    return float(
        gaussian.brightness_radius(
            z_a, 1.0, spread, z_b, contrast=contrast, scores=True
        )
    )


# --- against mpmath


CASES = [
    (FULL, None, 0.4),
    (2.0, None, 0.4),
    (0.3, None, 0.4),
    (2.0, -0.5, 0.4),
    (1.0, 0.5, 1.0),
    (3.0, None, 0.05),
    (2.5, -2.9, 2.0),
]


@pytest.mark.slow
@pytest.mark.parametrize(("z_a", "z_b", "spread"), CASES)
def test_at_no_contrast_it_is_the_truth_rounded_down(z_a, z_b, spread):
    found = radius(z_a, spread, z_b)
    worst = -z_a if z_b is None else z_b
    inside = oracle.affine_gap(z_a, worst, 0, found, spread, dps=18)
    outside = oracle.affine_gap(z_a, worst, 0, found * (1 + 1e-11), spread, dps=18)
    assert inside >= 0
    assert outside < 0


@pytest.mark.slow
@pytest.mark.parametrize(("z_a", "z_b", "spread"), CASES[::3])
def test_within_a_contrast_the_class_leads_everywhere(z_a, z_b, spread):
    most = 0.4 * spread * (z_a - (-z_a if z_b is None else z_b)) / 2
    found = radius(z_a, spread, z_b, most)
    assert 0 < found < radius(z_a, spread, z_b)
    worst = -z_a if z_b is None else z_b
    ends = []
    for kappa in (-most, -0.5 * most, 0.0, most):
        gap = oracle.affine_gap(z_a, worst, kappa / spread, found, spread, dps=12)
        assert gap > 0
        more = oracle.affine_gap(
            z_a, worst, kappa / spread, found * 1.0012, spread, dps=12
        )
        ends.append(more)
    # a thousandth from one of them
    assert min(ends) < 0


def test_the_numbers_of_the_theory_page():
    assert radius(FULL) * SPREAD == pytest.approx(1.46325313, abs=1e-8)
    assert 1.40 < radius(FULL, contrast=0.4) * SPREAD < 1.4103


@pytest.mark.slow
@pytest.mark.parametrize(("kappa", "beta"), [(0.2, 1.4504), (-0.4, 1.4103)])
def test_the_borders_of_the_theory_page(kappa, beta):
    ends = [
        oracle.affine_gap(FULL, -FULL, kappa / SPREAD, end / SPREAD, SPREAD, dps=10)
        for end in (beta - 5e-5, beta + 5e-5)
    ]
    assert ends[0] > 0 > ends[1]


@settings(max_examples=30, deadline=None)
@given(
    z_a=st.floats(0.05, 7),
    gap=st.none() | st.floats(0.02, 6),
    spread=st.floats(0.01, 2),
    share=st.sampled_from([0.0, 0.3, 0.9]),
)
def test_it_never_grows_where_it_must_not(z_a, gap, spread, share):
    z_b = None if gap is None else min(z_a - gap, -z_a)
    half = (z_a - (-z_a if z_b is None else z_b)) / 2
    most = share * half * spread
    found = radius(z_a, spread, z_b, most)
    assert 0 <= found <= 1.6 * half
    room = 2e-3 * half if share else 1e-9
    assert radius(z_a, spread, z_b, most * 1.05) <= found + room
    assert radius(z_a * 0.98, spread, z_b, most) <= found + room
    # contrast alone: the score of the contrast is used up at its own radius
    assert radius(z_a, spread, z_b, half * spread * (1 + 1e-9)) == 0


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: schemes.brightness_contrast(0.0, 0.4), "sigma_brightness"),
        (lambda: schemes.brightness_contrast(0.4, 2.5), "sigma_contrast"),
        (lambda: schemes.brightness_contrast(0.4, 0.0), "sigma_contrast"),
        (lambda: schemes.brightness_contrast(0.4, 0.4, contrast=-1.0), "contrast"),
        (lambda: gaussian.brightness_radius(1.5, 0.4, 0.4), "p_a"),
    ],
)
def test_bad_arguments_are_named(call, argument):
    with pytest.raises(ValueError, match=rf"^{argument} "):
        call()


def test_limits():
    assert radius(0.0) == radius(-1.0) == 0.0
    # scores beyond 8 count as 8
    assert radius(math.inf) == radius(8.0) == radius(20.0)
    assert radius(8.0) > radius(7.9)
    with np.errstate(invalid="ignore"):
        assert math.isnan(radius(math.nan))
    # without noise in the contrast that counts, it is Cohen's
    assert radius(2.0, 1e-4) == pytest.approx(2.0, rel=1e-6)


# --- brute force in two dimensions


def cells(kappa, beta, spread, sides=700):
    """Probabilities of the cells of a grid of (k, b), without an attack and under it,
    in noise levels; what lies outside of it is counted under the attack alone.
    """
    reach = 8.5
    k = np.linspace(-reach, reach, sides + 1)
    shift = kappa / spread
    middle = (k[1:] + k[:-1]) / 2
    mean = beta * np.exp(spread * (middle - shift))
    b = np.linspace(-reach, reach + mean[np.abs(middle - shift) < 6].max(), sides + 1)
    columns = np.diff(ndtr(k))
    plain = np.outer(columns, np.diff(ndtr(b)))
    moved_columns = np.diff(ndtr(k - shift))
    moved = moved_columns[:, None] * np.diff(ndtr(b[None] - mean[:, None]), axis=1)
    return plain.ravel(), moved.ravel()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kappa", "beta"),
    [(-0.3, 0.8), (0.0, 1.0), (0.3, 0.8), (0.5, 2.0), (-0.1, 3.0)],
)
def test_cells_of_a_grid_filled_by_their_ratio_give_the_bound(kappa, beta):
    """The least that events of probability p keep, by sorting cells. The grid errs by
    less than 2e-4.
    """
    plain, moved = cells(kappa, beta, SPREAD)
    order = np.argsort(moved / np.maximum(plain, 1e-300))
    share, kept = np.cumsum(plain[order]), np.cumsum(moved[order])
    for p in (0.95,):
        filled = np.interp(p, share, kept)
        z = ndtri(p)
        exact = float(oracle.affine_low(z, kappa / SPREAD, beta, SPREAD, dps=12))
        assert abs(filled - exact) < 2e-4


# --- classifiers that reach the radius


def worst_event(kappa, beta, z, spread=SPREAD):
    """The event b <= c(k), in noise levels, of probability Phi(z), by a fine sum."""
    u = np.linspace(-9, 9, 4001)
    step, shift = u[1] - u[0], kappa / spread

    def boundary(t, at):
        mean = beta * np.exp(spread * (at - shift))
        return (t - at * shift + shift**2 / 2) / mean + mean / 2

    density = np.exp(-(u**2) / 2) / math.sqrt(2 * math.pi) * step

    def excess(t):
        return float(density @ ndtr(boundary(t, u))) - ndtr(z)

    t = brentq(excess, -60, 60, xtol=1e-13)
    return lambda k, b: b <= boundary(t, k)


@pytest.mark.parametrize("contrast", [0.25, pytest.param(0.0, marks=pytest.mark.slow)])
def test_a_classifier_changes_its_class_just_beyond_the_radius(contrast):
    """At the worst end, by 4,000,000 draws: within five standard deviations."""
    z, spread = 1.6, SPREAD
    found = radius(z, spread, contrast=contrast)
    kappa = -contrast
    beta = found * (1.004 if contrast else 1.003)
    event = worst_event(kappa, beta, z)
    rng = np.random.default_rng(4)
    k = rng.standard_normal(4_000_000)
    b = rng.standard_normal(4_000_000)
    here = event(k, b).mean()
    assert abs(here - ndtr(z)) < 1.5e-3
    # e^kappa x + beta: k' = k + kappa, b' = b + e^k beta
    there = event(k + kappa / spread, b + np.exp(spread * k) * beta).mean()
    assert abs(there - 0.5) < 5 * 0.5 / 2000 + 1.5e-3
    inside = worst_event(kappa, 0.98 * found, z)
    kept = inside(k + kappa / spread, b + np.exp(spread * k) * 0.98 * found).mean()
    assert kept > 0.5


def test_attacks_within_the_radius_leave_the_class_of_a_model():
    scheme = schemes.brightness_contrast(0.2, 0.3, contrast=0.2)
    x = np.array([0.9, 0.2], np.float32)

    def model(batch):
        lead = batch[:, 0] + 0.3 * np.sin(4 * batch[:, 1]) - 0.4
        return np.stack([lead, -lead], axis=1)

    found = certify(model, x, scheme, n=20_000)
    assert found.radius > 0
    sampler = as_sampler(model, scheme)
    for kappa in (-0.2, 0.0, 0.2):
        for beta in (-found.radius, found.radius):
            attacked = (np.exp(kappa) * x + beta).astype(np.float32)
            counts = sampler(attacked, 0.2, 100_000, np.random.default_rng(8))
            assert counts.argmax() == found.predict


# --- noise, rows, proofs


@pytest.mark.parametrize("framework", ["numpy", "torch"])
def test_copies_have_the_law(framework):
    scheme = schemes.brightness_contrast(0.3, 0.5)
    x = np.array([0.4, 1.4], np.float32)

    def scores(first, second, xp):
        k = xp.log((second - first).clip(1e-30))
        b = first - 0.4 * (second - first)
        return xp.stack(
            [1.0 * (k < 0.2), 1.0 * ((k >= 0.2) & (b < 0.1)), 0.5 + 0 * k], 1
        )

    if framework == "numpy":

        def model(batch):
            return scores(batch[:, 0], batch[:, 1], np)

    else:
        torch = pytest.importorskip("torch")

        class Module(torch.nn.Module):
            def forward(self, batch):
                return scores(batch[:, 0], batch[:, 1], torch)

        model = Module()
    counts = np.asarray(
        as_sampler(model, scheme)(x, 0.3, 100_000, np.random.default_rng(2))
    )
    first = ndtr(0.4)
    shares = [first, (1 - first) * ndtr(1 / 3), (1 - first) * (1 - ndtr(1 / 3))]
    np.testing.assert_allclose(counts / 100_000, shares, atol=0.008)


@pytest.mark.slow
@pytest.mark.parametrize("contrast", [0.0, 0.15])
def test_what_the_kernel_certifies_is_proved_in_balls_and_hardly_more(contrast):
    for z_a, z_b in ((2.0, None), (2.0, -0.5), (FULL, None), (0.4, None)):
        parameters = {
            "sigma_brightness": 0.4,
            "sigma_contrast": 0.4,
            "contrast": contrast,
        }
        scheme = schemes.METHODS["brightness-contrast"].from_parameters(parameters)
        found = scheme.radius(z_a, 0.4, z_b)
        if not found:
            assert z_a < 0.5
            continue
        assert PROOF.proved(parameters, 1.0, found, z_a, z_b)
        more = 1.0012 if contrast else 1 + 1e-9
        assert not PROOF.proved(parameters, 1.0, found * more, z_a, z_b)


def test_no_proof_without_a_step():
    for damaged in (0.0, math.nan, math.inf, -1.0):
        parameters = {"sigma_brightness": 0.4, "sigma_contrast": 0.4, "contrast": 0.0}
        assert not PROOF.proved(parameters, 1.0, damaged, 2.0, None)
    assert not PROOF.proved(parameters, 1.0, 0.1, -2.0, None)
    assert not PROOF.proved(parameters, 1.0, 0.1, math.nan, None)


@pytest.mark.slow
def test_a_file_is_proved_and_a_forgery_found(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    x = np.full((3, 1, 4, 4), 0.5, np.float32)
    x[1:] += 0.2
    np.savez("x.npz", x=x, y=[0, 0, 1])
    Path("code.py").write_text(
        "import numpy as np\n"
        "def model():\n"
        "    def scores(batch):\n"
        "        mean = batch.mean(axis=(1, 2, 3))\n"
        "        return np.stack([mean, 0.2 + 0 * mean], axis=1)\n"
        "    return scores\n"
    )
    begin = ["certify", "--model", "code.py:model", "--data", "x.npz", "--n", "500"]
    begin += ["--method", "brightness-contrast", "--sigma-brightness", ".1"]
    begin += ["--sigma-contrast", ".2", "--contrast", ".1", "--out", "out.tsv"]
    assert main(begin) == 0
    read = results.read(Path("out.tsv"))
    assert {row.norm for row in read.rows} == {"brightness-contrast"}
    assert read.scopes() == [PARAMETER]
    assert all(row.radius > 0 for row in read.rows)
    scheme = schemes.brightness_contrast(0.1, 0.2)
    for row in read.rows:
        entries = [each.split(",") for each in row.extra["frontier"].split(";")]
        assert [float(contrast) for _, contrast in entries][:2] == [0.0, 0.2]
        for radius, contrast in entries:
            at = scheme.radius(row.z_a, 0.1, row.z_b, contrast=float(contrast))
            assert 0 < float(radius) == at
        # it ends where contrast alone can change the class
        after = scheme.radius(row.z_a, 0.1, row.z_b, contrast=0.2 * len(entries))
        assert after == 0
    drawn = ["--data", "x.npz", "--model", "code.py:model", "--rerun", "1"]
    assert main(["verify", "out.tsv", *drawn]) == 0
    again = ["recertify", "out.tsv", "--alpha", ".01", "--out", "again.tsv"]
    assert main(again) == 0
    assert main(["report", "out.tsv", "again.tsv"]) == 0
    rows = Path("out.tsv").read_text()
    entry = read.rows[0].extra["frontier"].split(";")[1]
    radius, contrast = entry.split(",")
    for larger in (f"{float(radius) * 1.01!r},{contrast}", f"{radius},0.25"):
        Path("out.tsv").write_text(rows.replace(entry, larger))
        (finding, *_) = audit.verify("out.tsv").findings
        assert "frontier" in finding.text
    Path("out.tsv").write_text(rows)
    manifest = Path("out.tsv.manifest.json")
    text = manifest.read_text()
    manifest.write_text(text.replace('"contrast": 0.1', '"contrast": 0.12'))
    assert audit.verify("out.tsv").findings
    words = ["radius", "brightness-contrast", "--sigma-brightness", ".4"]
    words += ["--sigma-contrast", ".4", "--contrast", ".4", "--p-a", ".9999"]
    capsys.readouterr()
    assert main(words) == 0
    assert capsys.readouterr().out.startswith("1.")


def test_a_run_states_no_other_answer(tmp_path):
    from rsbounds import answers

    scheme = schemes.brightness_contrast(0.2, 0.3)
    with pytest.raises(ValueError, match="scheme"):
        certify_dataset(
            lambda batch: batch,
            (np.zeros((2, 3), np.float32), np.zeros(2, int)),
            answers.TopK(scheme, 1),
            n=100,
        )


def test_a_small_radius_beside_much_contrast_is_proved():
    """Steps that end one ulp before the last contrast accused an honest row."""
    pytest.importorskip("flint")
    parameters = {"sigma_brightness": 0.3, "sigma_contrast": 0.3, "contrast": 0.1}
    z = 0.37460830024747116
    radius = float(gaussian.brightness_radius(z, 0.3, 0.3, contrast=0.1, scores=True))
    assert 0.049 < radius < 0.051
    assert PROOF.proved(parameters, 1.0, radius, z, None)
    assert not PROOF.proved(parameters, 1.0, 1.01 * radius, z, None)


@pytest.mark.parametrize(
    ("z_a", "z_b", "lost"),
    [
        *((z, None, 1e-11) for z in (0.1, 1.0, 3.0, 4.5, 5.0)),
        (0.0003, None, 1e-9),
        (6.0, None, 1e-9),
        (7.0, None, 1e-6),
        (8.0, None, 1e-3),
        (3.0, 2.9, 1e-9),
        (5.0, 4.9, 1e-6),
        (6.0, 5.9, 1e-3),
    ],
)
def test_what_a_radius_loses_is_what_its_docstring_says(z_a, z_b, lost):
    """Next to no noise in contrast, where the exact radius is (z_a - z_b)/2."""
    exact = z_a if z_b is None else (z_a - z_b) / 2
    assert exact * (1 - lost) <= radius(z_a, 1e-7, z_b) <= exact * (1 + 1e-13)
