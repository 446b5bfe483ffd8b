"""The same inputs in other containers: their content is compared, and no container."""

from contextlib import ExitStack

import numpy as np
import pytest

from rsbounds import certify_dataset, schemes
from rsbounds.audit import verify
from rsbounds.cli import main
from rsbounds.loading import Preprocess, open_data, read_table
from rsbounds.loading.internal import TableData

pytest.importorskip("flint")
X = np.random.default_rng(0).standard_normal((5, 4)).astype(np.float32)
PIXELS = np.random.default_rng(1).integers(0, 256, (5, 1, 2, 2)).astype(np.uint8)
Y = np.array([0, 0, 1, 1, 1])
WEIGHTS = np.random.default_rng(2).standard_normal((4, 2))
SLOW = pytest.mark.slow
SCHEME = schemes.gaussian(0.5)
GREY = Preprocess(channels=1)


def scores(batch):
    return batch.reshape(len(batch), -1) @ WEIGHTS


def table(folder, x):
    lines = ["a,b,c,d,y"]
    lines += [
        ",".join([*map(repr, row.tolist()), str(y)])
        for row, y in zip(x, Y, strict=True)
    ]
    place = folder / "data.csv"
    place.write_text("\n".join(lines))
    units = dict.fromkeys("abcd", 1.0)
    return TableData(read_table(place, "y", units=units), "data.csv")


def npz(folder, x):
    np.savez(folder / "data.npz", x=x, y=Y)
    return str(folder / "data.npz")


def npy(folder, x):
    np.save(folder / "data.npy", x)
    np.save(folder / "data.labels.npy", Y)
    return str(folder / "data.npy")


def code(folder, x):
    npy(folder, x)
    (folder / "code.py").write_text(
        "import numpy as np\n"
        f"x = np.load({str(folder / 'data.npy')!r})\n"
        f"y = np.load({str(folder / 'data.labels.npy')!r})\n"
        "data = lambda: list(zip(x, y.tolist()))\n"
    )
    return f"{folder / 'code.py'}:data"


def pictures(folder, x):
    images = pytest.importorskip("PIL.Image")
    for i, (pixels, y) in enumerate(zip(x, Y, strict=True)):
        (folder / str(y)).mkdir(exist_ok=True)
        images.fromarray(pixels[0]).save(folder / str(y) / f"{i}.png")
    return open_data(f"imagefolder:{folder}", preprocess=GREY)


def images(folder, x):
    made = pytest.importorskip("PIL.Image")
    pairs = [(made.fromarray(own[0]), y) for own, y in zip(x, Y.tolist(), strict=True)]
    return open_data(pairs, preprocess=GREY)


NUMBERS = {
    "arrays": lambda folder, x: (x, Y),
    "lists": lambda folder, x: (x.tolist(), Y.tolist()),
    "doubles": lambda folder, x: npz(folder, x.astype(np.float64)),
    "npz": npz,
    "npy": npy,
    "csv": table,
    "code": code,
}
PICTURES = {
    "arrays": lambda folder, x: open_data((x, Y), scale=255),
    "npz": lambda folder, x: open_data(npz(folder, x), scale=255),
    "folder": pictures,
    "images": images,
}


@pytest.mark.parametrize("crosswise", [False, pytest.param(True, marks=SLOW)])
@pytest.mark.parametrize(
    ("x", "containers"), [(X, NUMBERS), (PIXELS, PICTURES)], ids=["numbers", "pictures"]
)
def test_the_same_inputs_are_the_same_in_every_container(
    tmp_path, x, containers, crosswise
):
    changed = x.copy()
    changed[2].flat[0] += 1
    with ExitStack() as files:

        def opened(folder, inputs):
            folder.mkdir()
            data = open_data(containers[name](folder, inputs))
            return files.enter_context(data)

        held, others = {}, {}
        for name in containers:
            held[name] = opened(tmp_path / name, x)
            others[name] = opened(tmp_path / f"changed {name}", changed)
        require_one_content(tmp_path, held, others, crosswise=crosswise)


def require_one_content(tmp_path, held, others, *, crosswise):
    """Runs of each container are those of every other, or of the next."""
    names = [*held]
    for i, (name, data) in enumerate(held.items()):
        path = tmp_path / f"{name}.tsv"
        certify_dataset(scores, data, SCHEME, out=path, n0=10, n=100)
        for other in names if crosswise else (name, names[i - 1]):
            given = held[other]
            again = verify(path, data=given, model=scores, rerun=5)
            assert again.findings == (), (name, other)
            assert again.drawn == 5
            if name == other:
                assert again.notes == ()
            elif {name, other} in ({"arrays", "npz"}, {"npz", "npy"}, {"csv", "npz"}):
                assert "lie otherwise" in again.notes[0], (name, other)
        found = verify(path, data=others[name]).findings
        kinds = [(finding.index, finding.kind.value) for finding in found]
        assert kinds == [(2, "data"), (None, "data")]


def test_what_the_data_given_cannot_show_is_stated(tmp_path):
    """A sequence of pairs is not read through for its labels."""
    path = tmp_path / "run.tsv"
    certify_dataset(scores, (X, Y), SCHEME, out=path, n0=10, n=100)
    pairs = list(zip(X, Y.tolist(), strict=True))
    assert verify(path, data=(X, Y)).facts["data.labels"] == "compared"
    audit = verify(path, data=pairs)
    assert audit.findings == ()
    assert audit.facts["data.labels"] == "stated"
    assert audit.facts["data.x"] == "compared"


def test_steps_of_pictures_are_those_of_the_manifest(tmp_path, monkeypatch, capsys):
    """Without the model the pictures of a run are resized as it resized them."""
    images = pytest.importorskip("PIL.Image")
    monkeypatch.chdir(tmp_path)
    for i, y in enumerate(Y):
        (tmp_path / "pictures" / str(y)).mkdir(parents=True, exist_ok=True)
        pixels = np.random.default_rng(i).integers(0, 256, (9, 7)).astype(np.uint8)
        images.fromarray(pixels).save(tmp_path / "pictures" / str(y) / f"{i}.png")
    small = Preprocess(resize=4, crop=(2, 2), channels=1)
    data = open_data("imagefolder:pictures", preprocess=small)
    certify_dataset(scores, data, SCHEME, out="run.tsv", n0=10, n=100)
    assert verify("run.tsv", data="imagefolder:pictures").findings == ()
    assert main(["verify", "run.tsv", "--data", "imagefolder:pictures"]) == 0
    large = Preprocess(resize=6, crop=(2, 2), channels=1)
    other = open_data("imagefolder:pictures", preprocess=large)
    found = verify("run.tsv", data=other).findings
    assert "data.preprocessing" in "".join(finding.text for finding in found)
    capsys.readouterr()
