"""Masks in pairs as a method: its rows, and all patches of small pictures."""

import math
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from cli_models import one_line

from rsbounds import audit, certify_dataset, results, schemes
from rsbounds.answers import Flag, TopK
from rsbounds.certificate import DOUBLE_MASKING, SCOPES
from rsbounds.certify import certify, predict
from rsbounds.cli import main
from rsbounds.sampling import as_sampler
from rsbounds.votes import DoubleMasking

RNG = np.random.default_rng(7)
SHAPE = (3, 4)
ONES = np.ones(6, int)


def of_outcomes(rare, seed):
    """A label for each picture that is seen, at random: mostly 1, rarely another."""
    weights = np.random.default_rng(seed).normal(size=SHAPE)

    def scores(batch):
        seen = np.where(np.isclose(batch, 0.5), 3.0, batch) * weights
        code = np.abs(np.sin(37.0 * seen.sum(axis=(1, 2)) + seed))
        label = np.where(code < rare, 2 * (code < rare / 2), 1)
        return np.eye(3)[label]

    return scores


def patched(x, patch):
    """A picture under all square patches of zeros and ones, at all places."""
    for row, column in product(*(range(size - patch + 1) for size in x.shape)):
        for content in product((0.0, 1.0), repeat=patch * patch):
            other = x.copy()
            window = other[row : row + patch, column : column + patch]
            window[...] = np.reshape(content, (patch, patch))
            yield other


@pytest.mark.parametrize(("patch", "masks"), [(1, 2), (2, 2)])
def test_no_patch_changes_what_a_row_certifies(patch, masks):
    """Against the prediction of the two rounds at each patched picture."""
    scheme = schemes.double_masking(patch, masks, SHAPE, hidden=0.5)
    options = {"n": scheme.outcomes, "bound": "exact"}
    ends = {"certified": 0, "changed": 0, "open": 0}
    for seed in range(12):
        model = of_outcomes(0.05 + 0.25 * (seed % 3), seed)
        x = RNG.integers(0, 2, SHAPE).astype(np.float32)
        found = certify(model, x, scheme, **options)
        rounds = DoubleMasking(model, patch=patch, masks=masks, hidden=0.5)
        there = rounds.certify(x)
        assert found.radius == (math.inf if there.certified else 0.0)
        assert found.predict in (there.predict, -1)
        others = {rounds.predict(other) for other in patched(x, patch)}
        if found.radius:
            assert others == {found.predict}
            ends["certified"] += 1
        ends["changed"] += others != {there.predict}
        ends["open"] += found.predict == -1
    assert min(ends.values()) > 0, ends


def test_select_counts_single_masks_and_counts_their_pairs():
    scheme = schemes.double_masking(1, 2, SHAPE, hidden=0.5)
    model, x = of_outcomes(0.2, 3), RNG.random(SHAPE).astype(np.float32)
    found = certify(model, x, scheme, n=scheme.outcomes, bound="exact")
    rounds = DoubleMasking(model, patch=1, masks=2, hidden=0.5)
    windows = rounds.windows(SHAPE)
    single = rounds._labels(x, [(window,) for window in windows])
    pairs = [(a, b) for i, a in enumerate(windows) for b in windows[i:]]
    assert found.select == tuple(np.bincount(single, minlength=3))
    both = rounds._labels(x, pairs)
    assert found.counts == tuple(np.bincount(both, minlength=3))
    assert (len(single), len(both)) == (scheme.choosing, scheme.outcomes)


def test_the_masks_of_the_how_to():
    scheme = schemes.double_masking(32, 6, (3, 224, 224))
    assert (scheme.choosing, scheme.outcomes) == (36, 666)
    assert scheme.norm == "any patch-32x32"
    assert SCOPES[scheme.scope].valid


@pytest.mark.parametrize("channels", [None, 2])
def test_masks_hide_what_the_windows_say_clipped_to_the_picture(channels):
    shape = (5, 7) if channels is None else (channels, 5, 7)
    scheme = schemes.double_masking(2, 3, shape)
    x = RNG.random(shape).astype(np.float32) + 1
    seen = []

    def keep(batch):
        seen.append(batch.copy())
        return np.eye(2)[np.zeros(len(batch), int)]

    as_sampler(keep, scheme)(x, 1.0, scheme.outcomes, np.random.default_rng(0))
    shown = {copy.tobytes() for copy in np.concatenate(seen)}
    windows = DoubleMasking(keep, patch=2, masks=3).windows(shape[-2:])
    expected = set()
    for first, second in product(windows, repeat=2):
        copy = x.copy()
        for rows, columns in (first, second):
            copy[..., rows, columns] = 0
        expected.add(copy.tobytes())
    assert shown == expected
    assert all(rows.stop <= 5 and columns.stop <= 7 for rows, columns in windows)


def test_torch_goes_through_the_same_pairs():
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(24, 3))
    scheme = schemes.double_masking(1, 2, (2, *SHAPE))
    x = RNG.standard_normal((2, *SHAPE)).astype(np.float32)

    def function(batch):
        with torch.no_grad():
            return module(torch.from_numpy(batch)).numpy()

    counts, expected = (
        as_sampler(model, scheme)(x, 1.0, 10, np.random.default_rng(0))
        for model in (module, function)
    )
    assert np.asarray(counts).tolist() == np.asarray(expected).tolist()


def test_one_pair_without_a_label_certifies_nothing():
    scheme = schemes.double_masking(1, 2, SHAPE)
    x = np.ones(SHAPE, np.float32)

    def scores(batch):
        few = batch.sum(axis=(1, 2)) < 5
        return np.where(few[:, None], np.nan, [[0.0, 1.0]])

    found = certify(scores, x, scheme, n=scheme.outcomes, bound="exact")
    assert (found.predict, found.radius) == (1, 0.0)
    assert 0 < found.void < scheme.outcomes


# --- files


@pytest.fixture
def written(tmp_path):
    path = tmp_path / "masks.tsv"
    data = np.random.default_rng(1).random((6, *SHAPE)).astype(np.float32), ONES
    scheme = schemes.double_masking(1, 2, SHAPE, hidden=0.5)
    certify_dataset(of_outcomes(0.1, 5), data, scheme, out=path, n=10, bound="exact")
    return path, data


def test_rows_name_the_patch_and_are_drawn_again(written):
    path, data = written
    read = results.read(path)
    assert {row.norm for row in read.rows} == {"any patch-1x1"}
    assert read.scopes() == [DOUBLE_MASKING]
    radii = [row.radius for row in read.rows]
    assert set(radii) == {0.0, math.inf}
    assert any(row.predict == -1 for row in read.rows)
    found = audit.verify(path, data=data, model=of_outcomes(0.1, 5), rerun=6)
    assert found.findings == ()
    assert audit.verify(path, data=data, model=of_outcomes(0.3, 6), rerun=6).findings
    agree = sum(max(row.select) == 4 for row in read.rows)
    said = f"4 single masks agree at {agree} of 6 inputs, all 10 pairs at "
    assert any(said + str(radii.count(math.inf)) in note for note in read.notes())


@pytest.mark.parametrize(
    ("place", "changes"),
    [
        (0, {"radius": "inf"}),
        (0, {"radius": "1.0"}),
        (0, {"radius": "inf", "z_a": "inf", "p_a": "1"}),
        (1, {"predict": "-1", "radius": "0"}),
        (1, {"select": "1:3"}),
        (1, {"norm": "any patch-2x2"}),
        (1, {"counts": "1:9"}),
        (5, {"predict": "1"}),
    ],
)
def test_a_row_that_claims_more_is_found(written, place, changes):
    """Of the rows the first agrees under single masks, the second under all pairs."""
    path, _ = written
    head, *lines = (line.split("\t") for line in path.read_text().splitlines())
    for name, value in changes.items():
        lines[place][head.index(name)] = value
    path.write_text("".join("\t".join(line) + "\n" for line in [head, *lines]))
    assert audit.verify(path).findings


def test_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    x = RNG.random((8, 1, 6, 6)).astype(np.float32)
    x[:4] += 0.3
    np.savez("x.npz", x=x, y=np.ones(8, int))
    Path("code.py").write_text(
        "import numpy as np\n"
        "def bright():\n"
        "    def scores(batch):\n"
        "        light = batch.mean(axis=(1, 2, 3)) - 0.4\n"
        "        return np.stack([-light, light], axis=1)\n"
        "    return scores\n"
    )
    begin = ["certify", "--model", "code.py:bright", "--data", "x.npz"]
    begin += ["--out", "out.tsv", "--method", "double-masking"]
    assert main([*begin, "--patch", "1", "--masks", "3"]) == 0
    read = results.read(Path("out.tsv"))
    assert {(row.n, row.bound) for row in read.rows} == {(45, "exact")}
    assert {row.radius for row in read.rows} == {0.0, math.inf}
    drawn = ["--data", "x.npz", "--model", "code.py:bright", "--rerun", "8"]
    assert main(["verify", "out.tsv", *drawn]) == 0
    capsys.readouterr()
    assert main(["report", "out.tsv"]) == 0
    said = capsys.readouterr().out
    assert "9 single masks agree at " in said
    assert "certified against any patch-1x1" in said
    again = ["recertify", "out.tsv", "--bound", "exact", "--out", "again.tsv"]
    assert main(again) == 0
    one_line(capsys, [*begin, "--patch", "9"], "--patch must be no larger")
    one_line(capsys, [*begin, "--patch", "1", "--n", "99"], "--n")
    words = [*begin, "--patch", "1", "--answer", "flag"]
    one_line(capsys, words, "evaluated")


# --- what is refused


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((0, 2, SHAPE), "patch must"),
        ((4, 2, SHAPE), "patch must be no larger than the picture, 3"),
        ((1, 0, SHAPE), "masks must"),
        ((1, 2, (9,)), "shape must be"),
        ((1, 2, (1, 1, 9, 9)), "shape must be"),
        ((1, 60, (60, 60)), "masks must give at most 1048576 pairs"),
    ],
)
def test_what_is_no_masking_is_refused(arguments, said):
    with pytest.raises(ValueError, match=said):
        schemes.double_masking(*arguments)


def test_a_picture_is_of_the_stated_size_and_type():
    scheme = schemes.double_masking(1, 2, SHAPE, hidden=0.5)
    model = of_outcomes(0.1, 1)
    options = {"n": scheme.outcomes, "bound": "exact"}
    with pytest.raises(ValueError, match="3 rows and 4 columns"):
        certify(model, np.ones((4, 3), np.float32), scheme, **options)
    with pytest.raises(ValueError, match="hidden must be a whole number"):
        certify(model, np.ones(SHAPE, np.uint8), scheme, **options)


def test_a_vote_is_not_its_prediction():
    scheme = schemes.double_masking(1, 2, SHAPE)
    with pytest.raises(ValueError, match=r"scheme must .*votes\.DoubleMasking"):
        predict(of_outcomes(0.1, 1), np.ones(SHAPE, np.float32), scheme)
    for answer in (lambda: Flag(scheme, 0.1), lambda: TopK(scheme, 2)):
        with pytest.raises(ValueError, match="all outcomes are evaluated"):
            answer()
