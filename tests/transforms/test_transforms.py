"""Transformations: their law of composition, what they refuse, what noise in their
parameter draws and certifies, from the object to the command line.
"""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from cases import quick_each
from cli_models import one_line
from scipy.ndimage import gaussian_filter
from scipy.special import ndtr

from rsbounds import audit, certify_dataset, results, schemes
from rsbounds._numerics.errors import ArgumentError
from rsbounds.certificate import ASSERTED_GROUP, PARAMETER
from rsbounds.certify import certify
from rsbounds.cli import main
from rsbounds.sampling import as_sampler
from rsbounds.sampling.bits import ArrayBits
from rsbounds.sampling.streams import numbered
from rsbounds.testing import check_transform
from rsbounds.transforms import (
    REFUSED,
    TRANSFORMS,
    FiniteGroup,
    Transform,
    column,
)

RNG = np.random.default_rng(7)
PICTURE = RNG.random((3, 7, 6)).astype(np.float32)
CLOUD = RNG.standard_normal((40, 3)).astype(np.float32)
CLOUD[0] = 1.0, 0.2, 0.0
MOVING = [name for name in TRANSFORMS if isinstance(TRANSFORMS[name], Transform)]


def input_of(name):
    return CLOUD if name == "rotation-z" else PICTURE


def scheme_of(name, level=0.3):
    law = schemes.gaussian(level)
    if TRANSFORMS[name].one_sided:
        law = schemes.exponential(1 / level)
    return schemes.transformed(law, name)


def first_number(batch):
    value = batch.reshape(len(batch), -1)[:, 0]
    return np.stack([value, 0.5 - value], axis=1)


class Warmth(Transform):
    name = "warmth"
    formula = "the first channel times e^a, the last one times e^(-a)"

    def apply(self, x, a, xp):
        signs = column(xp.asarray([1.0, 0.0, -1.0]), x[0])
        return xp.exp(column(a, x) * signs) * x


class Clipped(Warmth):
    name = "clipped"

    def apply(self, x, a, xp):
        return super().apply(x, a, xp).clip(0, 1)


class Plane(Transform):
    """Two numbers: a plane added to a picture."""

    name = "plane"
    formula = "x + a_1 row + a_2 column"
    dim = 2

    def apply(self, x, a, xp):
        rows, columns = x.shape[-2:]
        down = xp.arange(rows)[:, None] + 0.0 * xp.arange(columns)
        across = xp.arange(columns) + 0.0 * xp.arange(rows)[:, None]
        return x + column(a[:, 0], x) * down + column(a[:, 1], x) * across


# --- groups


@pytest.mark.parametrize("name", MOVING)
@pytest.mark.parametrize("seed", range(3))
def test_a_transformation_is_a_group_on_its_inputs(name, seed):
    x = np.random.default_rng(seed).random(input_of(name).shape)
    check_transform(TRANSFORMS[name], x)


def test_the_suite_finds_what_is_no_group():
    class Cosine(Warmth):
        name = "cosine"

        def apply(self, x, a, xp):
            return xp.cos(column(a, x)) * x

    class Leaving(Warmth):
        name = "leaving"

        def checked(self, x):
            if np.max(x) > 1:
                raise ArgumentError("x", "must be <= 1")
            return super().checked(x)

    class Mixed(Warmth):
        name = "mixed"

        def apply(self, x, a, xp):
            return super().apply(x, a - a.mean() + a[:1], xp)

    class Loud(Warmth):
        name = "Loud"

    for transform, word in (
        (Cosine(), "one of their sum"),
        (Clipped(), "one of their sum"),
        (Leaving(), "is an input"),
        (Mixed(), "own parameter"),
        (Loud(), "lower-case"),
    ):
        with pytest.raises(AssertionError, match=word):
            check_transform(transform, PICTURE)


def test_the_heat_kernel_is_a_gaussian_blur_of_twice_the_time():
    """SciPy's own kernel, far from the borders; reflecting ones keep the sum."""
    x = np.zeros((1, 65, 63))
    x[0, 32, 30] = 1.0
    (blurred,) = TRANSFORMS["blur"].apply(x, np.array([[8.0]]), np)
    expected = gaussian_filter(x[0], sigma=4.0, truncate=8)
    # sampling the kernel of sigma 4 errs by e^(-2 pi^2 16) only; truncation is more
    np.testing.assert_allclose(blurred[0], expected, atol=1e-12)
    assert abs(blurred.sum() - 1) < 1e-12


def test_sampled_kernels_are_no_group():
    """Two steps are far from one of their sum."""
    x = np.random.default_rng(0).random((32, 32))
    step = gaussian_filter(x, math.sqrt(0.1), mode="reflect")
    two = gaussian_filter(step, math.sqrt(0.1), mode="reflect")
    one = gaussian_filter(x, math.sqrt(0.2), mode="reflect")
    lengths = [np.linalg.norm(d) for d in (two - x, one - x, two - one)]
    np.testing.assert_allclose(lengths, [0.53, 2.66, 2.13], atol=0.005)

    class Sampled(Transform):
        name = "sampled"
        formula = "a blur of variance a by a sampled kernel"
        one_sided = True

        def apply(self, x, a, xp):
            return np.stack(
                [gaussian_filter(x, math.sqrt(t), mode="reflect") for t in a[:, 0]]
            )

    with pytest.raises(AssertionError, match="one of their sum"):
        check_transform(Sampled(), x)


def test_a_turn_turns_and_decibels_are_decibels():
    (turned,) = TRANSFORMS["rotation-z"].apply(
        np.array([[1.0, 0.0, 5.0]]), np.array([[np.pi / 2]]), np
    )
    np.testing.assert_allclose(turned, [[0.0, 1.0, 5.0]], atol=1e-15)
    (louder,) = TRANSFORMS["gain"].apply(np.ones(2), np.array([[20.0]]), np)
    np.testing.assert_allclose(louder, [10.0, 10.0])


# --- what is refused


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_group_is_refused_with_what_to_use(name):
    with pytest.raises(ValueError, match=r"transform .* use "):
        schemes.transformed(schemes.gaussian(0.5), name)


@pytest.mark.parametrize(
    ("noise", "word"),
    [
        (["--sigma", "1", "--transform", "rotation"], "rotation-z"),
        (["--sigma", "1", "--transform", "brigthness"], "brightness"),
        (["--sigma", "1", "--transform", "shift"], "orbit"),
        (["--method", "orbit", "--transform", "gamma"], "shift"),
    ],
)
def test_a_wrong_name_is_refused_before_a_model_is_loaded(capsys, noise, word):
    words = ["certify", "--model", "no.py:f", "--data", "no.npz", "--out", "o.tsv"]
    with pytest.raises(SystemExit):
        main([*words, *noise])
    said = capsys.readouterr().err
    assert "--transform" in said
    assert word in said
    assert "no.py" not in said


@pytest.mark.parametrize(
    ("returned", "word"),
    [
        (lambda x, a, xp: [1.0, 2.0], "list"),
        (lambda x, a, xp: None, "NoneType"),
        (lambda x, a, xp: xp.exp(a)[:, 0], "shape"),
        (lambda x, a, xp: x, "shape"),
        (lambda x, a, xp: 1 / 0, "division"),
        (lambda x, a, xp: x + a[:, 7], "IndexError"),
    ],
)
def test_what_is_no_batch_of_copies_is_refused_by_the_transform_s_name(returned, word):
    class Own(Warmth):
        def apply(self, x, a, xp):
            return returned(x, a, xp)

    scheme = schemes.transformed(schemes.gaussian(0.2), Own())
    with pytest.raises(ArgumentError, match=rf"^transform .*{word}"):
        scheme.checked(np.ones((3, 4, 4), np.float32))


def test_a_transform_of_numpy_alone_is_refused_where_tensors_are_drawn():
    torch = pytest.importorskip("torch")
    from rsbounds.sampling import torch_bits

    class Own(Warmth):
        def apply(self, x, a, xp):
            return np.asarray(x) + np.asarray(a)[:, :, None, None]

    noise = schemes.transformed(schemes.gaussian(0.2), Own())
    x = torch.from_numpy(noise.checked(np.ones((3, 4, 4), np.float32)))
    with pytest.raises(ArgumentError, match=r"transform .*Tensor"):
        torch_bits.copies(noise, x, noise.level, 4, numbered(1), torch.Generator())


@pytest.mark.parametrize("dim", [0, -1, 1.5, True, None, "2"])
def test_a_transform_has_a_whole_number_of_parameters(dim):
    own = type("Own", (Warmth,), {"dim": dim})
    with pytest.raises(ArgumentError, match=r"transform .* dim"):
        schemes.transformed(schemes.gaussian(0.2), own())


@pytest.mark.parametrize(
    ("law", "transform", "argument"),
    [
        (lambda: schemes.gaussian(0.5), "nope", "transform"),
        (lambda: schemes.gaussian(0.5), "blur", "transform"),
        (lambda: schemes.gaussian(0.5), 3, "transform"),
        (lambda: schemes.gaussian(0.5, norm=1), "gain", "scheme"),
        (lambda: schemes.this_input(0.5), "gain", "scheme"),
        (lambda: schemes.mask(6, 2), "gain", "scheme"),
        (lambda: "gaussian", "gain", "scheme"),
    ],
)
def test_laws_and_transformations_that_do_not_go_together(law, transform, argument):
    with pytest.raises(ValueError, match=rf"^{argument} "):
        schemes.transformed(law(), transform)


@pytest.mark.parametrize(
    ("name", "x"),
    [
        ("gamma", np.full(4, 1.5)),
        ("gamma", np.full(4, -0.5)),
        ("blur", np.ones(4)),
        ("blur", np.ones((8, 8, 3))),
        ("rotation-z", np.ones((3, 8))),
        ("contrast", np.full(3, np.nan)),
        ("contrast", np.arange(3)),
    ],
)
def test_inputs_that_a_transformation_is_not_for(name, x):
    sampler = as_sampler(first_number, scheme_of(name))
    with pytest.raises(ValueError, match=r"^x "):
        sampler(x, 0.3, 10, np.random.default_rng(0))


def test_a_group_that_clips_is_found_at_the_first_input():
    scheme = schemes.transformed(schemes.gaussian(0.5), Clipped())
    with pytest.raises(ValueError, match="compose as T_a T_b"):
        certify(first_number, PICTURE, scheme, n=100)


@pytest.mark.parametrize(
    "damaged",
    [
        {"transform": "rotation"},
        {"transform": {"name": "Loud"}},
        {"transform": None},
        {"law": {"method": "mask", "sigma": 1.0}},
        {"law": {"method": "gaussian", "sigma": -1.0}},
        {"law": {"method": "gaussian", "sigma": 1.0, "norm": 1.0}},
        {"law": "gaussian"},
    ],
)
def test_damaged_parameters_are_named(damaged):
    stated = {"law": {"method": "gaussian", "sigma": 0.5}, "transform": "gain"}
    (name,) = damaged
    method = schemes.METHODS["transformed"]
    assert method.from_parameters(stated).norm == "gain"
    with pytest.raises(ValueError, match=rf"^parameters.{name} "):
        method.from_parameters({**stated, **damaged})
    del stated[name]
    with pytest.raises(ValueError, match=rf"^parameters.{name} "):
        method.from_parameters(stated)


# --- noise


LAWS = {
    "gaussian": (schemes.gaussian(0.5), lambda t: ndtr(t / 0.5)),
    "laplace": (
        schemes.laplace(0.5),
        lambda t: 0.5 + math.copysign(0.5 - 0.5 * math.exp(-abs(t) / 0.5), t),
    ),
    "uniform": (schemes.uniform(0.5), lambda t: min(max(t + 0.5, 0), 1)),
    "exponential": (schemes.exponential(2.0), lambda t: 1 - math.exp(-2 * max(t, 0))),
}


class FirstNumber:
    """A torch module of the classifier above."""

    def __new__(cls):
        torch = pytest.importorskip("torch")

        class Module(torch.nn.Module):
            def forward(self, batch):
                value = batch.flatten(1)[:, 0]
                return torch.stack([value, 0.5 - value], dim=1)

        return Module()


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("framework", ["numpy", "torch"])
def test_the_parameter_has_the_law_of_its_scheme(law, framework):
    """Shares of 100,000 samples, within five standard deviations of .0016."""
    scheme, below = LAWS[law]
    moved = schemes.transformed(scheme, "brightness")
    model = first_number if framework == "numpy" else FirstNumber()
    for x in (-0.2, 0.1, 0.4):
        picture = np.full((1, 2, 2), x, np.float32)
        counts = as_sampler(model, moved)(
            picture, moved.own_level, 100_000, np.random.default_rng(5)
        )
        # the first class above 1/4
        assert abs(np.asarray(counts)[1] / 100_000 - below(0.25 - x)) < 0.008


@pytest.mark.parametrize("name", MOVING)
def test_a_copy_is_the_transformation_of_the_input_and_nothing_else(name):
    """All numbers of a copy follow from one parameter, found from two of them."""
    scheme, x = scheme_of(name), input_of(name)
    seen = []

    def watch(batch):
        seen.append(batch.copy())
        return first_number(batch)

    as_sampler(watch, scheme)(x, scheme.own_level, 40, np.random.default_rng(3))
    transform = TRANSFORMS[name]
    wide = x.astype(np.float64)
    grid = np.linspace(0 if transform.one_sided else -2, 2, 4001)[:, None]
    known = transform.apply(wide, grid, np).reshape(len(grid), -1)
    for copy in seen[0][:40]:
        nearest = abs(known - copy.ravel()).max(axis=1).min()
        assert nearest < 5e-3  # the grid's step is .001


@pytest.mark.parametrize("name", MOVING)
def test_copies_are_those_of_float64_to_rounding(name):
    """A number is a sum of 2 x 7 terms at most, in float32: less than 17 units each."""
    noise = scheme_of(name)
    x = noise.checked(input_of(name))
    copies = noise.noisy(x, noise.level, 500, ArrayBits(np.random.default_rng(2), 500))
    bits = ArrayBits(np.random.default_rng(2), 500)
    a = noise.scheme.offsets((500, 1), bits)
    exact = TRANSFORMS[name].apply(x.astype(np.float64), a, np)
    assert copies.dtype == np.float32
    off = abs(copies - exact).reshape(500, -1).max(axis=1)
    assert (off <= 1e-6 * abs(exact).reshape(500, -1).max(axis=1)).all()


@pytest.mark.parametrize("name", ["brightness", "blur"])
def test_samples_do_not_depend_on_what_is_held_at_once(name):
    pytest.importorskip("torch")
    scheme = scheme_of(name)
    counts = [
        np.asarray(
            as_sampler(FirstNumber(), scheme, batch=batch)(
                PICTURE, scheme.own_level, 5000, np.random.default_rng(1)
            )
        ).tolist()
        for batch in (1, 700, 5000)
    ]
    assert counts[0] == counts[1] == counts[2]


def test_sound_noise_is_refused_and_a_margin_counts():
    scheme = scheme_of("brightness")
    with pytest.raises(ValueError, match="grid is for Gaussian noise"):
        scheme.on_grid()
    sampler = as_sampler(first_number, scheme).with_margin(0.1)
    counts = sampler(PICTURE, 0.3, 1000, np.random.default_rng(0))
    assert 0 < counts.sum() < 1000


# --- certificates


def test_a_threshold_on_brightness_is_attained():
    """The class changes where the radius of the true probability ends."""
    scheme = schemes.transformed(schemes.gaussian(0.5), "brightness")
    x = np.full((1, 3, 3), 0.4, np.float32)
    found = certify(first_number, x, scheme, n=100_000, alpha=0.001)
    # of the mean above 1/4: g's class changes at a = -.15
    assert found.predict == 0
    assert 0.14 < found.radius <= 0.15
    assert found.norm == "brightness"
    assert found.scope == PARAMETER


@pytest.mark.parametrize("name", quick_each(2, MOVING))
def test_attacks_within_the_radius_leave_the_class(name):
    """100,000 fresh samples at both ends of it, and a third of the way."""
    scheme, x = scheme_of(name, 0.2), input_of(name)
    pivot = float(x.ravel()[0])

    def model(batch):
        value = batch.reshape(len(batch), -1)[:, 0]
        return np.stack([value - 0.9 * pivot, 0.9 * pivot - value], axis=1)

    found = certify(model, x, scheme, n=20_000, alpha=0.001)
    assert found.radius > 0
    signs = (1.0,) if TRANSFORMS[name].one_sided else (1.0, -1.0)
    for sign in signs:
        for share in (0.3, 0.999):
            a = np.array([[sign * share * found.radius]])
            (attacked,) = TRANSFORMS[name].apply(x.astype(np.float64), a, np)
            sampler = as_sampler(model, scheme)
            counts = sampler(
                attacked.astype(np.float32),
                scheme.own_level,
                100_000,
                np.random.default_rng(9),
            )
            assert counts.argmax() == found.predict


def test_several_numbers_are_an_l2_radius():
    check_transform(Plane(), PICTURE)
    scheme = schemes.transformed(schemes.gaussian(0.5), Plane())
    assert (scheme.norm, scheme.scope) == ("plane, l2", ASSERTED_GROUP)
    upward = schemes.transformed(schemes.exponential(2.0), Plane())
    assert upward.norm == "plane, l1, a >= 0"
    found = certify(first_number, PICTURE, scheme, n=1000)
    assert found.radius >= 0


# --- files


def certified(scheme, out, **numbers):
    data = (np.stack([PICTURE, 0.9 * PICTURE]), np.array([0, 1]))
    return certify_dataset(first_number, data, scheme, out=out, n=1000, **numbers)


def test_an_asserted_group_is_not_called_a_proved_one(tmp_path):
    out = tmp_path / "run.tsv"
    certified(schemes.transformed(schemes.gaussian(0.3), Warmth()), out)
    assert results.read(out).scopes() == [ASSERTED_GROUP]
    assert audit.verify(out).findings == ()
    manifest = out.with_name("run.tsv.manifest.json")
    for file in (out, manifest):
        file.write_text(file.read_text().replace(ASSERTED_GROUP, PARAMETER))
    assert audit.verify(out).findings


def test_names_that_are_no_norm_are_refused(tmp_path):
    out = tmp_path / "run.tsv"
    certified(scheme_of("contrast"), out)
    text = out.read_text()
    for norm in ("l2", "linf", "Contrast", "contrast, l3", "c"):
        out.write_text(text.replace("\tcontrast\t", f"\t{norm}\t"))
        with pytest.raises(ValueError, match="norm"):
            results.read(out)


# --- the command line


@pytest.fixture
def work(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    x = np.stack([PICTURE, 0.8 * PICTURE])
    np.savez("pictures.npz", x=x, y=[0, 1])
    Path("code.py").write_text(
        "import numpy as np\n"
        "from rsbounds.transforms import Transform, column\n"
        "def first():\n"
        "    def scores(batch):\n"
        "        value = batch.reshape(len(batch), -1)[:, 0]\n"
        "        return np.stack([value, 0.5 - value], axis=1)\n"
        "    return scores\n"
        "class Double(Transform):\n"
        "    name, formula = 'double', 'x 2^a'\n"
        "    def apply(self, x, a, xp):\n"
        "        return 2 ** column(a, x) * x\n"
        "def double():\n"
        "    return Double()\n"
    )
    return tmp_path


BEGIN = ["certify", "--model", "code.py:first", "--data", "pictures.npz", "--n", "200"]
BEGIN += ["--n0", "20", "--out", "out.tsv"]


@pytest.mark.parametrize(
    "words",
    [
        ["--sigma", ".2", "--transform", "brightness"],
        ["--method", "laplace", "--sigma", ".2", "--transform", "gamma"],
        ["--method", "uniform", "--sigma", ".2", "--transform", "contrast"],
        ["--method", "exponential", "--rate", "4", "--transform", "blur"],
        ["--sigma", ".2", "--transform", "brightness", "--margin", "auto"],
    ],
)
def test_each_runs_is_verified_and_certified_again(work, words, capsys):
    assert main([*BEGIN, *words]) == 0
    drawn = ["--data", "pictures.npz", "--model", "code.py:first", "--rerun", "2"]
    assert main(["verify", "out.tsv", *drawn]) == 0
    again = ["recertify", "out.tsv", "--alpha", ".01", "--out", "again.tsv"]
    assert main(again) == 0
    assert main(["report", "out.tsv", "again.tsv"]) == 0
    assert main(["report", "out.tsv", "--card", "card.json"]) == 0
    card = json.loads(Path("card.json").read_text())
    assert words[words.index("--transform") + 1] in card["about"]["norm"]


def test_code_of_ones_own_is_asserted_and_hashed(work, capsys):
    words = ["--sigma", ".2", "--transform", "code.py:double"]
    assert main([*BEGIN, *words]) == 0
    manifest = json.loads(Path("out.tsv.manifest.json").read_text())
    stated = manifest["parameters"]["transform"]
    assert stated["name"] == "double"
    assert len(stated["code"]["source"]) == 64
    assert manifest["scope"] == ASSERTED_GROUP
    assert main(["verify", "out.tsv"]) == 0
    again = ["verify", "out.tsv", *BEGIN[1:5], "--rerun", "2"]
    one_line(capsys, again, "--transform")
    assert main([*again, "--transform", "code.py:double"]) == 0
    assert "no findings" in capsys.readouterr().out
    one_line(capsys, [*again, "--transform", "gamma"], "transform")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--sigma", ".2", "--transform", "code.py:first"], "--transform"),
        (["--sigma", ".2", "--transform", "gain", "--sound-noise"], "--sound-noise"),
        (["--method", "transformed"], "--transform"),
    ],
)
def test_what_does_not_go_together_is_said_in_a_line(work, words, said, capsys):
    one_line(capsys, [*BEGIN, *words], said)


def test_a_sampler_of_another_law_is_refused():
    scheme = scheme_of("brightness")
    with pytest.raises(ValueError, match="brightness of gaussian"):
        certify(as_sampler(first_number), PICTURE, scheme, n=100)


def test_finite_groups_have_no_parameter():
    for name in set(TRANSFORMS) - set(MOVING):
        assert isinstance(TRANSFORMS[name], FiniteGroup)
        with pytest.raises(ValueError, match="orbit"):
            schemes.transformed(schemes.gaussian(0.5), name)
