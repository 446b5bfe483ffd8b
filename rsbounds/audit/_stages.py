"""A file under audit: against itself, its data and its model, stage by stage."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from random import Random
from typing import Any, Self

from rsbounds._numerics.checks import count
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.progress import Progress
from rsbounds._numerics.threads import cores
from rsbounds.audit import _given, _levels, _redrawn, _rows
from rsbounds.audit._finding import Finding, Kind, Numbered
from rsbounds.audit._proofs import PROOFS
from rsbounds.audit._whole import (
    check_manifest,
    committed_otherwise,
    missing_rows,
    require_provable,
    structure,
)
from rsbounds.loading import CorruptInput, Data
from rsbounds.results import Manifest
from rsbounds.results.internal import folded, read_rows
from rsbounds.sampling.margins import Difference
from rsbounds.schemes import Scheme


@dataclass
class File:
    """A file under audit: its stages in order, each adding to the findings.

    ``repeatable``: a seed draws its rows again.
    """

    path: Path
    manifest: Manifest
    rows: list[Numbered]
    rerun: int
    seed: int
    random: Random
    findings: list[Finding] = field(default_factory=list)

    @classmethod
    def read(cls, path: Path, rerun: int, *, fresh: bool, seed: int | None) -> Self:
        """The file, or ValueError where nothing here can prove or redraw it.

        ``fresh``: samples that no seed repeats are worth drawing, too.
        """
        manifest = Manifest.read(path)
        check_manifest(manifest, path)
        require_provable(manifest, path)
        if rerun and not fresh and not manifest.procedure.repeats:
            raise ArgumentError(
                "rerun",
                f"can't draw the rows of {path} again: their noise is of the operating "
                "system, and no seed repeats it",
            )
        rows = list(enumerate(read_rows(path) if path.stat().st_size else [], start=2))
        seed = secrets.randbits(63) if seed is None else count("seed", seed)
        return cls(path, manifest, rows, rerun, seed, Random(seed))

    @property
    def repeatable(self) -> bool:
        return self.manifest.procedure.repeats

    @property
    def model(self) -> Mapping[str, Any]:
        return self.manifest.model if isinstance(self.manifest.model, dict) else {}

    def chosen(self, sample: int | None) -> list[Numbered]:
        """The rows to prove: all, or so many at random."""
        if sample is None or count("sample", sample, 1) >= len(self.rows):
            return self.rows
        return self.random.sample(self.rows, sample)

    def of_itself(self, chosen: Sequence[Numbered], truth: Any, jobs: int) -> None:
        """The file against itself and its true maps; proofs of the rows chosen."""
        rows, manifest = self.rows, self.manifest
        self.findings += structure(rows, manifest)
        self.findings += missing_rows(rows, manifest)
        self.findings += committed_otherwise(self.path, manifest)
        self.findings += _levels.refuted(rows, manifest)
        if truth is not None:
            proof = PROOFS[manifest.answer["name"]]
            self.findings += proof.against(rows, manifest, truth)
        self.findings += _judged(chosen, manifest, jobs)

    def of_data(
        self,
        source: Data,
        scheme: Scheme | None,
        describe: Mapping[str, Any] | None,
    ) -> list[Numbered]:
        """Compare the file with its data, its noise and what is said of its model.

        Returns the rows whose inputs are there.
        """
        absent = _given.lacking(self.manifest.data, source.identity)
        recorded = {
            name: value
            for name, value in self.manifest.data.items()
            if name not in absent
        }
        self.findings += _given.identity(Kind.DATA, recorded, source.identity)
        if describe is not None and self.model:
            described = folded("model", describe)
            self.findings += _given.identity(Kind.MODEL, self.model, described)
        self.findings += _given.left_out(self.manifest, source)
        inside = []
        for numbered in self.rows:
            try:
                self.findings += _given.at_input(
                    numbered, self.manifest, source, scheme
                )
                inside.append(numbered)
            except (CorruptInput, IndexError) as error:
                line, row = numbered
                self.findings.append(Finding(Kind.DATA, row.idx, str(error), line))
        self.findings += _levels.refuted(
            inside, self.manifest, lambda index: source.item(index).x
        )
        return inside

    def to_redraw(self, inside: Sequence[Numbered]) -> list[Numbered]:
        """Rows to draw again, at random of those that don't contradict themselves."""
        intact = self._intact(inside)
        return self.random.sample(intact, min(self.rerun, len(intact)))

    def of_model(
        self,
        redrawn: Sequence[Numbered],
        inside: Sequence[Numbered],
        source: Data,
        model: Any,
        scheme: Scheme | None,
        truth: Any,
    ) -> None:
        """Rows and the manifest's probe against what the model draws again."""
        if self.repeatable:
            self.findings += _redrawn.redrawn(
                redrawn, self.manifest, source, model, scheme, truth
            )
        intact = self._intact(inside)
        self.random.shuffle(intact)
        self.findings += _redrawn.probed_again(
            intact, self.manifest, source, model, scheme
        )

    def of_other_settings(
        self,
        redrawn: Sequence[Numbered],
        source: Data,
        model: Any,
        scheme: Scheme | None,
    ) -> Difference:
        """The scores of rows drawn again beside those of other settings."""
        votes = _redrawn.votes_changed(redrawn, self.manifest, source, model, scheme)
        self.findings += _redrawn.changed(votes, self.manifest)
        return votes

    def _intact(self, rows: Sequence[Numbered]) -> list[Numbered]:
        """Rows that don't contradict themselves.

        One that does may ask for any number of samples.
        """
        wrong = {
            finding.line
            for finding in self.findings
            if finding.kind == Kind.CONTRADICTION
        }
        return [numbered for numbered in rows if numbered[0] not in wrong]


def _judged(
    rows: Sequence[Numbered], manifest: Manifest, jobs: int
) -> Iterator[Finding]:
    judge, workers = partial(_rows.judged, manifest), min(jobs, cores(), len(rows))
    with ProcessPoolExecutor(workers) if workers > 1 else nullcontext() as pool:
        judged = (
            map(judge, rows) if pool is None else pool.map(judge, rows, chunksize=8)
        )
        yield from chain.from_iterable(Progress(len(rows), "row").over(judged))
