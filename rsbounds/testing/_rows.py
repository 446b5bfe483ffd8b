"""The suite of result rows: resumption, shards, recertifying, verify, forgeries."""

from __future__ import annotations

import re
import shutil
import tempfile
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rsbounds import results
from rsbounds._numerics.extras import need
from rsbounds.answers import ANSWERS, Answer, restored, scope_of
from rsbounds.audit import verify
from rsbounds.audit._bounds import PROOFS as BOUND_PROOFS
from rsbounds.audit._proofs import PROOFS
from rsbounds.certificate import SCOPES, as_drawn
from rsbounds.certify import certify_dataset
from rsbounds.certify.internal import job_of
from rsbounds.results import Row
from rsbounds.results.internal import COLUMNS, manifest_path, read_rows
from rsbounds.schemes import METHODS
from rsbounds.testing._properties import Property, require

INPUTS = 4
CUT = 7  # characters: less than the last line of a file


def linear(size: int, classes: int = 3) -> Callable[[Any], NDArray[Any]]:
    """A model of three classes, undecided about one half everywhere."""
    weights = np.random.default_rng(size).standard_normal((size, classes))

    def scores(batch: Any) -> NDArray[Any]:
        flat: NDArray[Any] = np.asarray(batch).reshape(len(batch), -1) - 0.5
        return flat @ weights

    return scores


def inputs_near(
    x: NDArray[Any], model: Callable[[Any], Any] | None = None
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Make a few inputs of the shape of x, with labels.

    They lie on the grid of 1/255 in [0, 1], or are whole numbers up to the largest of
    x.
    """
    generator = np.random.default_rng(7)
    floating = x.dtype.kind == "f"
    largest = 255 if floating else int(x.max())
    points = generator.integers(0, largest + 1, (INPUTS, *x.shape))
    if floating:
        points = (points / 255).astype(np.float32)
    scores = (linear(x.size) if model is None else model)(points)
    return points, np.asarray(scores).argmax(axis=1)


@dataclass
class RunsOfAnswer:
    """Runs of an answer on a few inputs, in a folder that is removed at the end."""

    answer: Answer
    model: Any
    data: Any
    numbers: dict[str, Any] = field(default_factory=dict)

    def __enter__(self) -> Self:
        self.folder = Path(tempfile.mkdtemp(prefix="rsbounds-"))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def run(self, name: str, **changes: Any) -> Path:
        """A run into a file of that name."""
        path = self.folder / f"{name}.tsv"
        numbers = {"n0": 50, "n": 400, "alpha": 0.01, **self.numbers, **changes}
        with warnings.catch_warnings():
            # no entry has to certify something by these few samples
            warnings.simplefilter("ignore", UserWarning)
            certify_dataset(self.model, self.data, self.answer, out=path, **numbers)
        return path

    @cached_property
    def whole(self) -> Path:
        """The file of all inputs, made in one go."""
        return self.run("whole")

    @property
    def entry(self) -> tuple[str, str, str]:
        """The names that a proof goes by: answer, method, bound."""
        bound = results.Manifest.read(self.whole).procedure.bound
        return self.answer.name, self.answer.scheme.name, bound

    @property
    def is_proved(self) -> bool:
        """Whether rsbounds.audit has a proof of such rows."""
        answer, method, bound = self.entry
        listed = METHODS.get(method) is type(self.answer.scheme)
        listed = listed and ANSWERS.get(answer) is type(self.answer)
        proof = PROOFS.get(answer)
        return (
            listed
            and proof is not None
            and method in proof.methods
            and bound in BOUND_PROOFS
        )


def timeless(path: Path) -> list[Row]:
    """The rows of a file in the order of the inputs, but for their times."""
    rows = sorted(read_rows(path), key=lambda row: row.idx)
    return [replace(row, time="", extra=dict(row.extra)) for row in rows]


def require_same(expected: Sequence[Row], rows: Sequence[Row], what: str) -> None:
    """AssertionError unless the rows are the same, field by field."""
    require(
        [row.idx for row in rows] == [row.idx for row in expected],
        f"{what} has the inputs {[row.idx for row in rows]}",
    )
    for row, other in zip(expected, rows, strict=True):
        for name in Row.__slots__:
            before, after = getattr(row, name), getattr(other, name)
            # NaN, which a row may hold, has no equal
            require(
                repr(before) == repr(after),
                f"input {row.idx}: {name} is {before!r}, {what} {after!r}",
            )


def states_whose_certificates_they_are(rows: RunsOfAnswer) -> None:
    """Rows state the scope that rsbounds stands for, and no more."""
    manifest = results.Manifest.read(rows.whole)
    samplers = rows.answer.samplers(rows.model)
    expected = scope_of(rows.answer, manifest.procedure.bound, samplers)
    for row in timeless(rows.whole):
        require(row.scope in SCOPES, f"scope is {row.scope!r}")
        require(row.scope == expected, f"scope is {row.scope!r}, not {expected!r}")


def resumes_after_a_cut(rows: RunsOfAnswer) -> None:
    """A run that was killed in the middle goes on to the same rows."""
    path = rows.run("cut", max=INPUTS // 2)
    text = path.read_text()
    path.write_text(text[:-CUT])
    rows.run("cut")
    require_same(timeless(rows.whole), timeless(path), "after a cut")


def joins_shards(rows: RunsOfAnswer) -> None:
    """Shards hold the same rows as one file."""
    shards = [rows.run(f"shard-{i}", shard=f"{i}/2") for i in range(2)]
    joined = [row for shard in shards for row in timeless(shard)]
    joined.sort(key=lambda row: row.idx)
    require_same(timeless(rows.whole), joined, "in shards")


def gives_its_rows_again(rows: RunsOfAnswer) -> None:
    """What a row holds of its samples gives the same row, as recertify does."""
    manifest = results.Manifest.read(rows.whole)
    scheme = type(rows.answer.scheme).from_parameters(manifest.parameters)
    # as recertify reads it off the file: the samples were drawn before
    scheme.scope = as_drawn(rows.answer.scheme.scope, manifest.scope)
    answer = again(rows.answer, scheme, manifest.answer)
    job = job_of(answer, manifest.procedure)
    before, after = [], []
    for row in timeless(rows.whole):
        try:
            certificate, columns = job.again(row)
        except ValueError as error:
            require(
                answer.name in str(error), f"stored refuses without a name: {error}"
            )
            return
        made = Row.of(
            row.idx, row.label, certificate, 0.0, input=row.input, extra=dict(columns)
        )
        line = replace(made, time="0").text((*COLUMNS, *columns))
        read = Row.parse(line, (*COLUMNS, *columns))
        before.append(row)
        after.append(replace(read, time=""))
    require_same(before, after, "from what it holds")


def again(answer: Answer, scheme: Any, description: Any) -> Answer:
    """The answer of a manifest, whether or not it is in the list."""
    if ANSWERS.get(answer.name) is type(answer):
        return restored(description, scheme)
    parameters = {key: value for key, value in description.items() if key != "name"}
    return type(answer).from_parameters(parameters, scheme)


def is_verified_or_refused(rows: RunsOfAnswer) -> None:
    """Verify proves the rows where it has a proof, and else refuses in one line."""
    need("flint", "a suite")
    if rows.is_proved:
        findings = verify(rows.whole, data=rows.data).findings
        require(not findings, f"{len(findings)} findings, the first {findings[:1]}")
        return
    try:
        audit = verify(rows.whole)
    except ValueError as error:
        message = str(error)
        require("\n" not in message, f"it refuses in several lines: {message}")
        return
    raise AssertionError(f"verify passes rows that it can't prove: {audit}")


def takes_bits_of_the_system(rows: RunsOfAnswer) -> None:
    """Noise of the operating system's bits is certified and proved, or refused."""
    if find_spec("cryptography") is None:
        return
    try:
        path = rows.run("system", seed="os")
    except ValueError as error:
        message = str(error)
        require("seed" in message, f"it refuses without a name: {message}")
        require("\n" not in message, f"it refuses in several lines: {message}")
        return
    require(
        [row.idx for row in timeless(path)] == list(range(INPUTS)),
        f"it has the inputs {[row.idx for row in timeless(path)]}",
    )
    if rows.is_proved:
        findings = verify(path, data=rows.data).findings
        require(not findings, f"{len(findings)} findings, the first {findings[:1]}")


def is_found_when_forged(rows: RunsOfAnswer) -> None:
    """Whatever column of a row is changed, verify finds it."""
    if not rows.is_proved:
        return
    head, *lines = rows.whole.read_text().splitlines()
    columns = head.split("\t")
    cells = [line.split("\t") for line in lines]
    radius = columns.index("radius")
    chosen = max(range(len(cells)), key=lambda i: float(cells[i][radius]))
    path = rows.folder / "forged.tsv"
    shutil.copy(manifest_path(rows.whole), manifest_path(path))
    for place, column in enumerate(columns):
        if column == "time":  # of which nothing follows
            continue
        forged = [list(row) for row in cells]
        before = cells[chosen][place]
        after = changed(column, before)
        forged[chosen][place] = after
        text = "\n".join("\t".join(row) for row in ([columns, *forged]))
        path.write_text(f"{text}\n")
        require(
            is_found(path, rows),
            f"{column} {before!r:.60} became {after!r:.60}",
        )


def is_found(path: Path, rows: RunsOfAnswer) -> bool:
    """Whether verify finds something, without the model or else with it."""
    try:
        if verify(path, data=rows.data).findings:
            return True
        redrawn = verify(path, data=rows.data, model=rows.model, rerun=INPUTS)
        return bool(redrawn.findings)
    except ValueError:
        return True


def changed(column: str, cell: str) -> str:
    """Another entry of a column, as a forger might write it."""
    if column == "correct":
        return "1" if cell == "0" else "0"
    if re.fullmatch(r"-?\d+", cell):
        return str(int(cell) + 1)
    try:
        value = float(cell)
    except ValueError:
        value = np.nan
    if np.isfinite(value):
        return repr(value + 1e-3 * max(1.0, abs(value)))
    last = re.search(r"(\d+)(\D*)$", cell)
    if last is None:
        return "1" if cell in ("", "-") else f"{cell}x"
    return f"{cell[: last.start()]}{int(last[1]) + 1}{last[2]}"


ROWS: tuple[Property[RunsOfAnswer], ...] = (
    states_whose_certificates_they_are,
    resumes_after_a_cut,
    joins_shards,
    gives_its_rows_again,
    is_verified_or_refused,
    takes_bits_of_the_system,
    is_found_when_forged,
)
