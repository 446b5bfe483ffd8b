"""Honest result files, and false ones made of them: one kind of lie each.

    python benchmarks/certificates/lies/forge.py

writes ``files/`` and ``index.tsv``: for each file what is wrong with it, what a checker
must be given to find it (the file alone, the data, the model, its noise levels too),
and its answer: refuse or accept. ``run.py`` holds a checker to it. Files that nobody
can tell from honest ones stand in the index too.
"""

import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any, NamedTuple

from rsbounds.cli import main as rsbounds
from rsbounds.schemes import METHODS

HERE = Path(__file__).resolve().parent
FILES = HERE / "files"
INDEX = HERE / "index.tsv"
HEAD = ("file", "needs", "must", "about", "options")
PRINTED = ("--sigma", "0.5", "--n", "1000", "--alpha", "0.001")
RULE = {
    "format": 1,
    "sigmas": [0.5, 0.25],
    "items": [
        [
            {"kind": "margin", "stage": 0, "threshold": 0.0},
            {"kind": "score", "stage": 0, "threshold": 0.5},
        ],
        [{"kind": "margin", "stage": 1, "threshold": 0.0}],
    ],
}
RUN = ("--n0", "50", "--n", "1000", "--alpha", "0.001")
#: Honest runs: name -> what they are, and the options that make them.
HONEST = {
    "gaussian": ("Gaussian noise, runner-up bounded", ("--sigma", "0.5")),
    "one-bound": (
        "Gaussian noise, the rest of the classes bounded together",
        ("--sigma", "0.5", "--runner-up", "off"),
    ),
    "uniform": (
        "uniform noise, radii in l1", ("--method", "uniform", "--sigma", "0.5")
    ),
    "list": ("a decision list over two levels", ("--rule", "rule.json")),
    "top-2": ("the label among two classes", ("--answer", "top-k", "--k", "2",
                                              "--sigma", "0.5")),
    "target": ("a radius of 0.2 or nothing", ("--sigma", "0.5", "--target-radius",
                                              "0.2")),
    "shard": ("every second input, and says so", ("--sigma", "0.5", "--shard", "0/2")),
    "lipschitz": (
        "a noise level that varies, its bounds asserted",
        ("--method", "lipschitz", "--sigma-function", "model.py:levels",
         "--lip", "0.0625", "--sigma-min", "0.5"),
    ),
}  # fmt: skip


class File(NamedTuple):
    """A result file as what stands in it."""

    rows: list[dict[str, str]]
    manifest: dict[str, Any]

    @classmethod
    def read(cls, path: Path) -> "File":
        header, *lines = (line.split("\t") for line in path.read_text().splitlines())
        rows = [dict(zip(header, line, strict=True)) for line in lines]
        return cls(rows, json.loads(_manifest(path).read_text()))

    def write(self, path: Path) -> None:
        lines = ["\t".join(self.rows[0]), *("\t".join(r.values()) for r in self.rows)]
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        _manifest(path).write_text(json.dumps(self.manifest, indent=1) + "\n")

    @property
    def right(self) -> list[dict[str, str]]:
        """The rows with a radius that are right."""
        return [r for r in self.rows if r["correct"] == "1" and float(r["radius"]) > 0]


class Lie(NamedTuple):
    """What is made of an honest file, and who can find it."""

    name: str
    of: str
    needs: str
    about: str
    change: Callable[[File], None]


LIES: list[Lie] = []


def lie(
    of: str, needs: str, about: str
) -> Callable[[Callable[[File], None]], Callable[[File], None]]:
    """Enter a function that changes an honest file into the list of lies."""

    def enter(change: Callable[[File], None]) -> Callable[[File], None]:
        name = change.__name__.strip("_").replace("_", "-")
        LIES.append(Lie(name, of, needs, about, change))
        return change

    return enter


def _manifest(path: Path) -> Path:
    return path.with_name(f"{path.name}.manifest.json")


def _times(row: dict[str, str], column: str, factor: float) -> None:
    row[column] = repr(float(row[column]) * factor)


# --- rows that their own counts contradict ---


@lie("gaussian", "file", "every radius is 0.1 % larger than its counts show")
def radii_stretched(file: File) -> None:
    for row in file.rows:
        _times(row, "radius", 1.001)


@lie("gaussian", "file", "one radius is larger than its counts show by 1e-9 of it")
def radius_by_a_hair(file: File) -> None:
    _times(file.right[0], "radius", 1 + 1e-9)


@lie("gaussian", "file", "one radius is infinite")
def radius_infinite(file: File) -> None:
    file.right[0]["radius"] = "inf"


@lie("gaussian", "file", "the bounds of the two classes are larger, radii with them")
def scores_raised(file: File) -> None:
    row = file.right[0]
    row["z_a"] = repr(float(row["z_a"]) + 0.5)
    row["z_b"] = repr(float(row["z_b"]) - 0.5)
    row["radius"] = repr(float(row["radius"]) + 0.25)


@lie("one-bound", "file", "the bound of the class's probability is 1e-6 larger")
def probability_raised(file: File) -> None:
    _times(file.right[0], "p_a", 1 + 1e-6)


@lie("gaussian", "file", "a score is beyond all that counts show")
def score_beyond_all(file: File) -> None:
    file.right[0] |= {"z_a": "100000.0", "z_b": "-100000.0"}


@lie("gaussian", "file", "the count of the class is not the one among all counts")
def count_raised(file: File) -> None:
    row = file.right[0]
    row["count"] = str(int(row["count"]) + 5)


@lie("gaussian", "file", "counts sum to more samples than were drawn")
def counts_beyond_samples(file: File) -> None:
    row = file.right[0]
    row["counts"] = ",".join(f"{part}0" for part in row["counts"].split(","))


@lie("gaussian", "file", "a row rests on no sample")
def no_sample(file: File) -> None:
    file.right[0] |= {"count": "0", "n": "0", "counts": "-", "void": "0", "p_a": "1"}


@lie("gaussian", "file", "n of a row is ten times that of its counts")
def samples_of_a_row(file: File) -> None:
    row = file.right[0]
    row["n"] = str(10 * int(row["n"]))


@lie("gaussian", "file", "a row's probability is not a number")
def no_probability(file: File) -> None:
    file.right[0]["p_a"] = "nan"


@lie("gaussian", "file", "the class is not that of the selection")
def other_class(file: File) -> None:
    row = next(row for row in file.rows if row["correct"] == "0")
    row |= {"predict": row["label"], "correct": "1"}


@lie("gaussian", "file", "wrong rows are called right")
def wrong_called_right(file: File) -> None:
    for row in file.rows:
        row["correct"] = "1"


@lie("gaussian", "file", "an abstention has a class and counts as right")
def abstention_hidden(file: File) -> None:
    for row in file.rows:
        if row["predict"] == "-1":
            row |= {"predict": row["label"], "correct": "1"}


@lie("gaussian", "file", "abstentions count as right, of the label -1")
def abstention_counts(file: File) -> None:
    for row in file.rows:
        row |= {"predict": "-1", "label": "-1", "radius": "0.0", "correct": "1"}


@lie("gaussian", "file", "wrong rows are left out")
def wrong_rows_dropped(file: File) -> None:
    file.rows[:] = [row for row in file.rows if row["correct"] == "1"]


@lie("gaussian", "file", "a row stands twice")
def row_twice(file: File) -> None:
    file.rows.append(file.rows[0])


@lie("gaussian", "file", "a row is of no input of the run")
def row_of_no_input(file: File) -> None:
    file.rows.append(file.right[0] | {"idx": "8"})


@lie("gaussian", "file", "the noise of a row is twice as large as the run's")
def level_of_a_row(file: File) -> None:
    row = file.right[0]
    for column in ("sigma", "radius"):
        _times(row, column, 2)


@lie("gaussian", "file", "a row is of another method, whose radii would be larger")
def method_of_a_row(file: File) -> None:
    file.right[0]["method"] = "laplace"


@lie("gaussian", "file", "a row's radius is said to be in the norm of the maximum")
def norm_of_a_row(file: File) -> None:
    file.right[0]["norm"] = "inf"


@lie("gaussian", "file", "a row's bound is one with another proof")
def bound_of_a_row(file: File) -> None:
    file.right[0]["bound"] = "anytime"


@lie("gaussian", "file", "a row holds for another classifier than the run's")
def scope_of_a_row(file: File) -> None:
    file.right[0]["scope"] = "sigma(x) with a proven envelope"


@lie("gaussian", "file", "a column that no run writes says that rows were reviewed")
def column_added(file: File) -> None:
    for row in file.rows:
        row["reviewed"] = "yes"


@lie("gaussian", "file", "a number is in digits that only look like one")
def other_digits(file: File) -> None:
    file.right[0]["count"] = "".join(
        chr(0x660 + int(digit)) for digit in file.right[0]["count"]
    )


@lie("gaussian", "file", "a row's norm is a little above 2")
def norm_by_a_hair(file: File) -> None:
    file.right[0]["norm"] = "2.0000000029"


@lie("gaussian", "file", "void votes are taken away from a row's sum")
def void_claimed(file: File) -> None:
    file.right[0]["void"] = "3"


@lie("list", "file", "the bounds of a list's row are on the unsafe side by 1e-9")
def list_by_a_hair(file: File) -> None:
    for row in file.right:
        _times(row, "z_a", 1 + 1e-9 if float(row["z_a"]) > 0 else 1 - 1e-9)


@lie("top-2", "file", "the radius of a top-2 row is larger by 1e-9 of it")
def top_2_by_a_hair(file: File) -> None:
    _times(file.right[0], "radius", 1 + 1e-9)


# --- manifests ---


@lie("gaussian", "file", "alpha is half of what the rows were certified with")
def alpha_halved(file: File) -> None:
    file.manifest["alpha"] = 0.0005


@lie("gaussian", "file", "more samples are said to be drawn than rows have")
def samples_raised(file: File) -> None:
    file.manifest["n"] = 100_000


@lie("gaussian", "model", "the norm is the maximum's, of inputs of one number")
def norm_changed(file: File) -> None:
    file.manifest["parameters"] |= {"norm": 1e999, "dim": 1.0}
    for row in file.rows:
        row["norm"] = "inf"


@lie("gaussian", "file", "the noise is said to be twice as large, rows stay")
def level_changed(file: File) -> None:
    file.manifest["parameters"]["sigma"] = 1.0


@lie("gaussian", "file", "a parameter that Gaussian noise does not have")
def parameter_added(file: File) -> None:
    file.manifest["parameters"]["k"] = 2.0


@lie("gaussian", "file", "an entry that no run writes says who reviewed it")
def entry_added(file: File) -> None:
    file.manifest["reviewed"] = "by rsbounds"


@lie("gaussian", "file", "an entry of the model that no run writes names a better one")
def model_renamed(file: File) -> None:
    file.manifest["model"] = {"timm": "ResNet-50 (ImageNet)"}


@lie("gaussian", "file", "a method that there is none of")
def method_of_no_name(file: File) -> None:
    file.manifest["method"] = "gaussian+"


@lie("gaussian", "file", "a scope that Gaussian noise does not have")
def scope_changed(file: File) -> None:
    file.manifest["scope"] = "sigma(x) with a proven envelope"
    for row in file.rows:
        row["scope"] = file.manifest["scope"]


@lie("gaussian", "file", "the bound is one that needs other evidence")
def bound_changed(file: File) -> None:
    file.manifest["bound"] = "anytime"


@lie("gaussian", "file", "fewer samples chose the class than its counts say")
def selection_changed(file: File) -> None:
    file.manifest["n0"] = 49


@lie("gaussian", "file", "a format of the future")
def format_changed(file: File) -> None:
    file.manifest["format"] = 99


@lie("shard", "file", "half of the inputs, said to be all of them")
def shard_hidden(file: File) -> None:
    file.manifest["shard"] = "0/1"


@lie("gaussian", "file", "a whole run, said to be a part: what is missing can't show")
def shard_claimed(file: File) -> None:
    file.manifest["shard"] = "0/2"


@lie("top-2", "file", "the label among two classes, said to be the class")
def top_2_called_class(file: File) -> None:
    file.manifest["answer"] = {"name": "class"}


@lie("top-2", "file", "the label among two classes, said to be among one")
def top_2_called_top_1(file: File) -> None:
    file.manifest["answer"]["k"] = 1


@lie("list", "file", "the rule of a decision list without one of its conditions")
def rule_eased(file: File) -> None:
    del file.manifest["parameters"]["rule"]["items"][0][1]


@lie("list", "file", "a radius of a decision list is that of its first stage twice")
def list_stretched(file: File) -> None:
    _times(file.right[0], "radius", 2)


@lie("uniform", "file", "radii in l1 said to be in l2, where they are too large")
def norm_of_uniform(file: File) -> None:
    file.manifest["parameters"]["norm"] = 2.0
    for row in file.rows:
        row["norm"] = "2.0"


@lie("target", "file", "a larger radius than the one that was asked for")
def target_raised(file: File) -> None:
    for row in file.right:
        row["radius"] = "0.25"


@lie("target", "file", "another target, rows stay")
def target_changed(file: File) -> None:
    file.manifest["target_radius"] = 0.3


def _grown(file: File, **changes: float) -> None:
    """Change the bounds of sigma(x), and let every radius grow to what they give."""
    parameters = file.manifest["parameters"]
    parameters |= changes
    scheme = METHODS[file.manifest["method"]].from_parameters(parameters)
    for row in file.rows:
        scores = float(row["z_a"]), float(row["sigma"]), float(row["z_b"])
        row["radius"] = repr(float(scheme.radius(*scores)))


@lie("lipschitz", "levels", "asserted bounds of sigma(x) are said to be proven")
def envelope_called_proven(file: File) -> None:
    for part in (*file.rows, file.manifest):
        part["scope"] = part["scope"].replace("an asserted", "a proven")


@lie("lipschitz", "levels", "a bound of sigma(x) that its levels refute, radii with it")
def bound_of_levels_lowered(file: File) -> None:
    _grown(file, lip=0.01)


@lie("lipschitz", "levels", "levels are larger than sigma(x), radii with them")
def levels_raised(file: File) -> None:
    for row in file.rows:
        _times(row, "sigma", 1.05)
    _grown(file)


# --- what only the data show ---


@lie("gaussian", "data", "labels are set to what was predicted")
def labels_of_predictions(file: File) -> None:
    for row in file.rows:
        if row["predict"] != "-1":
            row |= {"label": row["predict"], "correct": "1"}


@lie("gaussian", "data", "rows have each other's numbers")
def renumbered(file: File) -> None:
    numbers = [row["idx"] for row in file.rows]
    swapped = [
        row | {"idx": k} for row, k in zip(file.rows[::-1], numbers, strict=True)
    ]
    file.rows[:] = swapped


@lie("gaussian", "data", "the last inputs are left out, in the manifest too")
def cut_with_its_number(file: File) -> None:
    file.rows[:] = file.rows[:4]
    file.manifest["data"] |= {"inputs": 4, "total": 4, "rows": 4}


@lie("gaussian", "data", "wrong rows are left out and called corrupt")
def wrong_called_corrupt(file: File) -> None:
    wrong = [int(row["idx"]) for row in file.rows if row["correct"] == "0"]
    file.rows[:] = [row for row in file.rows if row["correct"] == "1"]
    file.manifest["history"] = [
        {"corrupt": [{"input": i, "problem": "can't be decoded"} for i in wrong]}
    ]


@lie("gaussian", "data", "the hash of the data is another's")
def data_of_others(file: File) -> None:
    file.manifest["data"]["x"] = "0" * 64


@lie("gaussian", "data", "inputs are said to be divided by 255")
def scale_claimed(file: File) -> None:
    file.manifest["data"]["scale"] = 255


# --- what only the model shows ---


@lie("gaussian", "model", "every row has the counts of the best one")
def counts_of_the_best(file: File) -> None:
    best = max(file.rows, key=lambda row: float(row["radius"]))
    names = ("predict", "radius", "count", "p_a", "z_a", "z_b", "select", "counts")
    for row in file.rows:
        row |= {name: best[name] for name in names}
        row["correct"] = str(int(row["label"] == row["predict"]))


@lie("gaussian", "model", "the seed is another than the samples'")
def seed_of_others(file: File) -> None:
    file.manifest["seed"] = 7


@lie("gaussian", "model", "the model's weights are another's")
def weights_of_others(file: File) -> None:
    file.manifest["model"]["parameters"] = "0" * 64


@lie("gaussian", "model", "noise is said to be exact on a grid, and is not")
def exactness_claimed(file: File) -> None:
    file.manifest["engine"]["sound_noise"] = True


# --- files without a manifest ---


def _as_printed(file: File, form: Callable[[float], str]) -> str:
    """The file as the field prints it: six columns, radii in some form."""
    lines = ["idx\tlabel\tpredict\tradius\tcorrect\ttime"]
    for row in file.rows:
        radius = form(float(row["radius"]))
        cells = (row["idx"], row["label"], row["predict"], radius, row["correct"])
        lines.append("\t".join((*cells, "0:00:01")))
    return "".join(f"{line}\n" for line in lines)


def _cut(value: float) -> str:
    return f"{int(value * 1000) / 1000:.3f}"


def _one_too_large(file: File) -> str:
    lines = _as_printed(file, "{:.3}".format).splitlines()
    cells = lines[2].split("\t")
    cells[3] = "1.99"
    return "\n".join([*lines[:2], "\t".join(cells), *lines[3:], ""])


def _one_contradicts(file: File) -> str:
    lines = _as_printed(file, "{:.3}".format).splitlines()
    wrong = next(i for i, line in enumerate(lines) if line.split("\t")[4] == "0")
    cells = lines[wrong].split("\t")
    cells[4] = "1"
    return "\n".join([*lines[:wrong], "\t".join(cells), *lines[wrong + 1 :], ""])


#: Files without a manifest: name -> must, about, text.
_PRINTED: dict[str, tuple[str, str, Callable[[File], str]]] = {
    "printed": (
        "accept", "printed with three digits, to the nearest",
        lambda file: _as_printed(file, "{:.3}".format),
    ),
    "printed-cut": (
        "accept", "printed with three decimals, cut off", lambda f: _as_printed(f, _cut)
    ),
    "printed-half": (
        "accept", "every radius printed as its half",
        lambda file: _as_printed(file, lambda radius: repr(radius / 2)),
    ),
    "printed-too-large": (
        "refuse", "one radius is above what all samples earn", _one_too_large
    ),
    "printed-contradiction": (
        "refuse", "a row is called right, of another class", _one_contradicts
    ),
    "printed-twice": (
        "refuse", "a row stands twice",
        lambda file: _as_printed(File([*file.rows, file.rows[0]], {}), "{:.3}".format),
    ),
}  # fmt: skip


# --- manifests as text ---

_TEXTS: dict[str, tuple[str, Callable[[str], str]]] = {
    "key-twice": (
        "alpha stands twice in the manifest: readers take one or the other",
        lambda text: text.replace('"alpha"', '"alpha": 0.0005,\n "alpha"', 1),
    ),
    "nested": (
        "a manifest nested 100,000 deep ends readers",
        lambda text: text.replace(
            '"history": []', f'"history": {"[" * 300}{"]" * 300}'
        ),
    ),
    "turned-text": (
        "an entry's name turns the text around it",
        lambda text: text.replace('"shard"', '"\\u202edrahs"', 1),
    ),
}


# --- cards ---


def _accuracy(card: dict[str, Any]) -> None:
    card["accuracy"][1]["accuracy"] = 1.0


def _average(card: dict[str, Any]) -> None:
    card["acr"] = 99.0


def _verified(card: dict[str, Any]) -> None:
    card["verified"]["stated"] = []


def _inputs(card: dict[str, Any]) -> None:
    card["inputs"] = 10_000


#: Lies of a card about the honest file that it stands beside.
_CARDS: dict[str, tuple[str, Callable[[dict[str, Any]], None]]] = {
    "card-accuracy": ("its card has a higher accuracy", _accuracy),
    "card-average": ("its card has a larger average radius", _average),
    "card-verified": ("its card says that nothing was taken as stated", _verified),
    "card-inputs": ("its card has more inputs", _inputs),
}


# --- lies that nothing shows ---


def _unseen() -> Iterator[tuple[str, str]]:
    """Files that are what honest ones are, with what is wrong all the same."""
    best = max(range(8), key=lambda seed: _average_of(_certified(f"seed-{seed}", (
        "--sigma", "0.5", "--seed", str(seed)))))  # fmt: skip
    _tidy(Path(f"seed-{best}.tsv"), FILES / "best-of-8-seeds.tsv")
    yield "best-of-8-seeds", "the seed with the largest average radius of eight"
    _tidy(Path("gaussian.tsv"), FILES / "trained-on-its-inputs.tsv")
    yield (
        "trained-on-its-inputs",
        "the classifier was made for these inputs: the file of an honest run",
    )
    again = File.read(FILES / "again.tsv")
    again.manifest["history"] = []
    again.write(FILES / "chosen-after-looking.tsv")
    yield (
        "chosen-after-looking",
        "alpha was chosen after looking at the rows, and the history taken out",
    )


def _average_of(path: Path) -> float:
    return sum(float(row["radius"]) for row in File.read(path).right)


# --- written down ---


def _certified(name: str, options: Sequence[str]) -> Path:
    """The file of a run."""
    path = Path(f"{name}.tsv")
    words = ["certify", "--model", "model.py:classifier", "--data", "model.py:inputs"]
    status = rsbounds([*words, *RUN, *options, "--out", str(path)])
    if status:
        raise RuntimeError(f"{name} wasn't certified")
    return path


def _tidy(path: Path, to: Path) -> None:
    """A file without what differs from machine to machine."""
    file = File.read(path)
    for row in file.rows:
        row["time"] = "0:00:00.010000"
    for name in ("run", "versions"):
        file.manifest.pop(name, None)
    file.write(to)


def write() -> Iterator[tuple[str, ...]]:
    """Write all files; the lines of the index."""
    for name, (about, options) in HONEST.items():
        _tidy(_certified(name, options), FILES / f"{name}.tsv")
        needs = "levels" if name == "lipschitz" else "model"
        yield f"{name}.tsv", needs, "accept", f"honest: {about}", ""
    for of in (lambda path: path, _manifest):  # the history has the hash of the file
        shutil.copy(of(FILES / "gaussian.tsv"), ".")
    rsbounds(["recertify", "gaussian.tsv", "--alpha", "0.01", "--out", "again.tsv"])
    _tidy(Path("again.tsv"), FILES / "again.tsv")
    about = "certified again at another alpha, and says so"
    yield "again.tsv", "model", "accept", f"honest: {about}", ""
    for each in LIES:
        file = deepcopy(File.read(FILES / f"{each.of}.tsv"))
        each.change(file)
        file.write(FILES / f"{each.name}.tsv")
        yield f"{each.name}.tsv", each.needs, "refuse", each.about, ""
    honest = FILES / "gaussian.tsv"
    plain = File.read(FILES / "one-bound.tsv")
    for name, (must, about, text) in _PRINTED.items():
        (FILES / f"{name}.tsv").write_text(text(plain))
        about = f"honest: {about}" if must == "accept" else about
        yield f"{name}.tsv", "file", must, about, " ".join(PRINTED)
    for name, (about, change) in _TEXTS.items():
        shutil.copy(honest, FILES / f"{name}.tsv")
        text = change(_manifest(honest).read_text())
        _manifest(FILES / f"{name}.tsv").write_text(text)
        yield f"{name}.tsv", "file", "refuse", about, ""
    yield from _cards(honest)
    for name, about in _unseen():
        yield f"{name}.tsv", "nothing", "accept", about, ""


def _cards(honest: Path) -> Iterator[tuple[str, ...]]:
    """Cards of an honest file, of which only one is."""
    place = FILES / "card.json"
    rsbounds(["report", str(honest), "--card", str(place)])
    place.with_suffix(".md").unlink()
    card = json.loads(place.read_text()) | {"rsbounds": "0.1.0"}
    changes = {"card": ("honest: its card", lambda _: None), **_CARDS}
    for name, (about, change) in changes.items():
        made = deepcopy(card)
        change(made)
        (FILES / f"{name}.json").write_text(json.dumps(made, indent=1) + "\n")
        must = "accept" if name == "card" else "refuse"
        yield honest.name, "file", must, about, f"--card files/{name}.json"


def main() -> None:
    shutil.rmtree(FILES, ignore_errors=True)
    FILES.mkdir()
    scratch = HERE / "scratch"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    shutil.copy(HERE / "model.py", scratch)
    (scratch / "rule.json").write_text(json.dumps(RULE))
    os.chdir(scratch)
    try:
        lines = ["\t".join(line) for line in (HEAD, *write())]
    finally:
        os.chdir(HERE)
        shutil.rmtree(scratch)
    INDEX.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    size = sum(path.stat().st_size for path in FILES.iterdir())
    print(f"{len(lines) - 1} lines, {len([*FILES.iterdir()])} files, {size} bytes")


if __name__ == "__main__":
    main()
