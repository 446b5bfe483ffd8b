"""What is asked of each input of a data set, in place of a scheme: it makes its own
task.

A question stands where :func:`rsbounds.certify_dataset` takes a scheme. Its task draws,
answers and fills the row's further columns; files, resumption, shards and workers are
those of any run.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import count
from rsbounds.answers import _maps, _topk, _values
from rsbounds.certificate import ABSTAIN, Certificate
from rsbounds.certify import Task, check_noise, class_counts, sampler_of
from rsbounds.procedure import Procedure
from rsbounds.sampling import Phase, stream
from rsbounds.sampling.adapters import output_sampler
from rsbounds.schemes import Scheme

Columns = Mapping[str, str]
FINGERPRINT = 16  # numbers that tell one model from another


class Question:
    """One of the answers, over a data set; ``bound`` names what its rows rest on."""

    bound = "clopper-pearson"
    columns: tuple[str, ...] = ()
    scheme: Scheme
    stated: Any  # () -> what the manifest's parameters say of it

    def task(self, model: Any, procedure: Procedure) -> Task:
        """What answers it for each input; ValueError for noise that follows the input."""
        stated, scheme = self.stated(), self.scheme
        answer = stated["answer"]
        numbers = (getattr(procedure, name) for name in ("n0", "n", "alpha", "seed"))
        if procedure != Procedure(*numbers):
            raise ValueError(
                f"{answer} has its own bounds: target_radius, bound and runner_up are not for it"
            )
        scheme.transport(0.0, 0.0, 1.0)  # refuses that noise
        if classes := answer == "top-k":
            sampler: Any = sampler_of(model, scheme)
            check_noise(sampler, scheme)
        else:
            sampler = output_sampler(model, answer, scheme.law)
        names = scheme.name, scheme.scope, {**scheme.parameters, **stated}, self.columns
        return _TASKS[answer](
            [sampler], scheme, procedure, *names, classes=classes, asked=self
        )


@dataclass(frozen=True)
class TopK(Question):
    """Whether the label of each input stays among the k most likely classes.

    Parameters
    ----------
    scheme, k
        As in :func:`top_k_radius`.

    Examples
    --------
    >>> import numpy as np
    >>> from rsbounds import certify_dataset
    >>> from rsbounds.answers import TopK
    >>> from rsbounds.schemes import gaussian
    >>> x = np.array([[0.5, 0.4, 0.0]], np.float32)
    >>> run = certify_dataset(lambda b: b, (x, np.array([1])), TopK(gaussian(0.25), 2), n=1000)
    >>> run.rows[0].predict, run.rows[0].correct, run.rows[0].radius > 0.1
    ((0, 1), True, True)
    """

    scheme: Scheme
    k: int
    columns = ("sum_of", "apart")

    def __post_init__(self) -> None:
        count("k", self.k, 1)

    def stated(self) -> dict[str, Any]:
        return {"answer": "top-k", "k": self.k}


@dataclass(frozen=True)
class _AskedTask(Task):
    """A task of a question. Rows of values and maps predict no class: -1, radius 0."""

    asked: Any = None

    def _drawn(self, x: Any, n: int, index: int, phase: Phase) -> NDArray[Any]:
        generator = stream(self.procedure.seed, index, phase)
        return np.asarray(
            self.samplers[0](x, self._level(x), n, generator), dtype=np.float64
        )

    def _row(self, x: Any, void: int) -> Certificate:
        nan, n, norm = math.nan, self.procedure.n, self.asked.scheme.norm
        own = ABSTAIN, 0.0, nan, nan, 0, n, self._level(x), self.method, self.scope
        return Certificate(*own, norm=norm, bound=self.asked.bound, void=void)


class _TopKTask(_AskedTask):
    def certify(self, x: Any, index: int, label: int) -> tuple[Certificate, Columns]:
        sigma, own = self._level(x), self.procedure
        phases = (own.n0, Phase.SELECT), (own.n, Phase.ESTIMATE)
        select, counts = (
            class_counts(self.samplers[0](x, sigma, n, stream(own.seed, index, phase)))
            for n, phase in phases
        )
        k = self.asked.k
        if not k < len(select):
            raise ValueError(
                f"k must be from 1 to {len(select) - 1}, less than the classes; got {k}"
            )
        return top_k_certificate(
            self.asked.scheme, sigma, select, counts, label, k, own
        )


def top_k_certificate(
    scheme: Scheme,
    sigma: float,
    select: NDArray[np.int64],
    counts: NDArray[np.int64],
    label: int,
    k: int,
    procedure: Procedure,
) -> tuple[Certificate, Columns]:
    """The certificate of a label and the further columns of its row.

    It abstains where the label is among the k that were selected and isn't shown to be.
    """
    pair, (t, apart) = _topk.evidence(
        select, counts, label, k, procedure, scheme, sigma
    )
    radius = _topk.radius_of(pair, t, scheme, sigma)
    chosen = tuple(np.argsort(-np.asarray(select), kind="stable")[:k].tolist())
    predict: Any = chosen if k > 1 else chosen[0]
    certificate = Certificate(
        predict=predict if radius or label not in chosen else ABSTAIN,
        radius=radius,
        z_a=pair.z_a,
        p_a=pair.p_a,
        count=int(counts[label]) if label < len(counts) else 0,
        n=procedure.n,
        sigma=sigma,
        method=scheme.name,
        scope=scheme.scope,
        norm=scheme.norm,
        z_b=pair.z_b,
        select=tuple(map(int, select)),
        counts=tuple(map(int, counts)),
        void=int(procedure.n0 - sum(select) + procedure.n - sum(counts)),
    )
    return certificate, {"sum_of": str(t), "apart": ",".join(map(str, apart)) or "-"}


@dataclass(frozen=True)
class Values(Question):
    """Where the p-quantile of each real output stays, within each of some radii."""

    scheme: Scheme
    radii: tuple[float, ...]
    p: float = 0.5
    bound = "order-statistics"
    columns = ("quantile", "ranks", "low", "high")

    def stated(self) -> dict[str, Any]:
        return {"answer": "values", "radii": list(self.radii), "p": self.p}

    def ranks(self, procedure: Procedure, sigma: float) -> list[_values.Ranks]:
        """The order statistics at each radius."""
        n, own = procedure.n, (self.p, procedure.alpha, self.scheme, sigma)
        return [_values.order_ranks(n, radius, *own) for radius in self.radii]


class _ValuesTask(_AskedTask):
    def select(self, x: Any, index: int) -> Sequence[int]:
        """How often the outputs rise from sample to sample, and how many are positive."""
        drawn = self._drawn(x, self.procedure.n0, index, Phase.SELECT)[
            :, : FINGERPRINT // 2
        ]
        rises = (np.diff(drawn, axis=0) > 0).sum(axis=0)
        return [int(c) for c in (*rises, *(drawn > 0).sum(axis=0))]

    def certify(self, x: Any, index: int, label: int) -> tuple[Certificate, Columns]:
        drawn = self._drawn(x, self.procedure.n, index, Phase.ESTIMATE)
        if drawn.ndim != 2 or len(drawn) != self.procedure.n:
            raise ValueError(
                f"the sampler must return {self.procedure.n} rows of outputs; got {drawn.shape}"
            )
        ordered = _values.sorted_samples(drawn)
        ranks = self.asked.ranks(self.procedure, self._level(x))
        ends = [_values.interval(ordered, each) for each in ranks]
        columns = {
            "quantile": joined(_values.at_input(ordered, self.asked.p)),
            "ranks": ";".join(f"{below},{above}" for below, above in ranks),
            "low": ";".join(joined(low) for low, _ in ends),
            "high": ";".join(joined(high) for _, high in ends),
        }
        void = int(np.isnan(drawn).any(axis=1).sum())
        return self._row(x, void), columns


@dataclass(frozen=True)
class Maps(Question):
    """The classes of the positions of each input that hold together within one radius."""

    scheme: Scheme
    tau: float
    truth: Sequence[Any] | None = field(default=None, compare=False)
    bound = "binomial-holm"
    columns = ("chosen", "hits", "certified", "right", "overlap", "union")

    def stated(self) -> dict[str, Any]:
        level = self.scheme.fixed_level(
            getattr(getattr(self.scheme, "noise", None), "level", None)
        )
        radius = _maps.map_radius(self.tau, self.scheme, level)
        return {"answer": "map", "tau": self.tau, "map_radius": radius}


class _MapsTask(_AskedTask):
    def select(self, x: Any, index: int) -> Sequence[int]:
        """The votes of all positions together."""
        drawn = self._drawn(x, self.procedure.n0, index, Phase.SELECT)
        return [int(c) for c in drawn.sum(axis=0)]

    def certify(self, x: Any, index: int, label: int) -> tuple[Certificate, Columns]:
        own = self.procedure
        select = self._drawn(x, own.n0, index, Phase.SELECT)
        counts = self._drawn(x, own.n, index, Phase.ESTIMATE)
        chosen, hits, _ = _maps.chosen_counts(select, counts, own.n)
        held = _maps.holm(hits, own.n, self.asked.tau, own.alpha)
        columns = dict.fromkeys(self.asked.columns, "")
        columns |= {
            "chosen": _maps.runs(chosen),
            "hits": _maps.runs(hits),
            "certified": str(held.sum()),
        }
        if self.asked.truth is not None:
            truth = np.asarray(self.asked.truth[index]).ravel()
            columns |= agreement(
                np.where(held, chosen, ABSTAIN), truth, select.shape[1]
            )
        void = int((own.n0 + own.n) * len(chosen) - select.sum() - counts.sum())
        return self._row(x, void), columns


def agreement(
    labels: NDArray[Any], truth: NDArray[Any], classes: int
) -> dict[str, str]:
    """How a map agrees with the true one: right positions; overlap and union of each
    class.
    """
    if truth.shape != labels.shape:
        raise ValueError(
            f"the true map must have {labels.size} positions; got {truth.size}"
        )
    each = np.arange(classes)[:, None]
    own, true = labels == each, truth == each
    return {
        "right": str(int((labels == truth).sum())),
        "overlap": ",".join(map(str, (own & true).sum(axis=1))),
        "union": ",".join(map(str, (own | true).sum(axis=1))),
    }


def joined(values: NDArray[Any]) -> str:
    """Numbers as text, exactly."""
    return ",".join(repr(float(v)) for v in values)


_TASKS = {"top-k": _TopKTask, "values": _ValuesTask, "map": _MapsTask}
