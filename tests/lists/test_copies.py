"""Every public object can be pickled and copied: workers and notebooks do both."""

import copy
import importlib
import inspect
import pickle

import numpy as np
import pytest
from copies import COPIES
from listed_schemes import SCHEMES
from public_calls import public_modules

import rsbounds as rs
from rsbounds import (
    answers,
    audit,
    composite,
    confidence,
    envelope,
    lbrs,
    loading,
    oracle,
    reports,
    results,
    sampling,
    schemes,
    transforms,
)
from rsbounds.certify import Procedure, Settings, certify, forecast
from rsbounds.composite.internal import worst_ratio
from rsbounds.confidence.internal import Look
from rsbounds.loading.internal import TableData
from rsbounds.noises.grid_noise import OnGrid
from rsbounds.results import Results, Row
from rsbounds.sampling.internal import GrowingDraws

X = np.array([[0.9, 0.1], [0.2, 0.7], [0.4, 0.5]])
LABELS = np.array([0, 1, 1])


def scores(batch):
    return batch


def pictures(batch):
    return batch.reshape(len(batch), -1)[:, :2]


def knn():
    return rs.semielastic.KNNSigma(X, 0.5, 0.1, 2, 1.0)


def votes():
    return sampling.ArraySampler(scores)


def certificate():
    return certify(votes(), X[0], schemes.gaussian(0.5), n=100)


def level(x):
    return 0.3


def fitted():
    counts = [[[900, 50, 50], [950, 25, 25]], [[280, 380, 340], [800, 100, 100]]]
    return composite.fit(counts, [0, 0], [1.0, 0.5])


def linear(points):
    return points[:, 0] - 2, np.tile([1.0, 0.0], (len(points), 1))


def row(index=0, **values):
    return Row(index, 1, 1, 0.5, True, "fixed noise", **values)


def few_rows():
    return Results("a", tuple(row(i) for i in range(3)))


def pilot():
    data = (np.tile(X, (5, 1)), np.tile(LABELS, 5))
    return rs.certify_dataset(scores, data, schemes.gaussian(0.5), n0=50, n=500)


def table():
    return loading.internal.Table(
        numbers=("age",),
        categories=("job",),
        units=np.array([5.0]),
        values={"job": ("cook", "smith")},
        x=np.array([[6, 0], [8, 1]], np.float32),
        y=np.array([0, 1]),
        classes=("no", "yes"),
    )


def looks():
    bounds = [confidence.BOUNDS[name] for name in confidence.BOUNDS]
    return next(bound.looks for bound in bounds if bound.looks)


def finding():
    return audit.Finding(audit.Kind.COUNTS, 1, "no")


def rule():
    gate = [composite.Cond("margin", 0), composite.Cond("score", 0, -0.3)]
    return composite.Rule([1.0, 0.5], [gate, [composite.Cond("margin", 1)]])


def masking():
    return rs.votes.DoubleMasking(pictures, patch=1, masks=2)


MADE = {
    "procedure": lambda: Procedure(n=1000, margin=0.1),
    "settings": Settings,
    "who answers for a parameter": lambda: schemes.By.COUNTS,
    "certificate": certificate,
    "certificate of nothing": lambda: certify(
        votes(), np.zeros(2), schemes.gaussian(0.5), n=100
    ),
    "row": lambda: Row(0, 1, 1, float("nan"), True, "fixed noise", sigma=0.5),
    "results": lambda: Results("", (Row(0, 1, 1, 0.5, True, "fixed noise"),)),
    "array sampler": votes,
    "sound sampler": lambda: sampling.ArraySampler(scores, noise=OnGrid()),
    "draws": lambda: sampling.Draws([votes()], X[0], [0.5], Procedure(), 0),
    "stream": lambda: sampling.internal.stream(0, 0, sampling.Phase.SELECT),
    "nearest neighbours": knn,
    "rule": rule,
    "envelope": lambda: rs.envelope.SemiElastic(0.1),
    "sequential test": lambda: confidence.SequentialTest(0.25, 0.25, 0.001),
    "histogram": confidence.ScoreHistogram,
    "distribution": lambda: rs.stats.ncx2(784, 20.0),
    "law": lambda: rs.stats.ncx2,
    "rice": lambda: rs.stats.rice,
    "interval": lambda: confidence.interval(3, 10, 0.1),
    "curve": lambda: schemes.flips(0.1, 0.3).curve,
    "composite": lambda: answers.DecisionList(rule()).scheme,
    "option": lambda: schemes.Gaussian.options[0],
    "domain": lambda: schemes.Domain(0.0, 1.0),
    "who answers": lambda: schemes.By.RERUN,
    "parameter": lambda: schemes.Parameter("a", "one", schemes.Domain(0.0, 1.0)),
    "semi-elastic envelope of arrays": lambda: rs.envelope.SemiElastic([0.1, 0.2]),
    "lipschitz envelope": lambda: envelope.LipschitzSigma(0.1, 0.2),
    "range envelope": lambda: envelope.SigmaRange(0.1, 0.2),
    "table envelope": lambda: envelope.TableEnvelope([0, 1], [0.5, 0.4], [0.5, 0.6]),
    "widened": lambda: envelope.Widened(envelope.SigmaRange(0.1, [0.2, 0.3]), 0.1),
    "locally biased": lambda: lbrs.LocallyBiased(
        linear, [[0.0, 0.0], [4.0, 0.0]], [-1, 1], 0.5, 0.0
    ),
    "forecast": lambda: forecast(pilot(), [1000], runs=20)[0],
    "soft sampler": lambda: sampling.SoftSampler(scores),
    "growing draws": lambda: GrowingDraws(MADE["draws"]()),
    "phase": lambda: sampling.Phase.SELECT,
    "bound": lambda: confidence.BOUNDS["clopper-pearson"],
    "bound on scores": lambda: confidence.BOUNDS["betting"],
    "looks": looks,
    "look": lambda: Look(100, 0.001),
    "pair": lambda: confidence.internal.Pair(1.0, -1.0, 0.8, 0.2),
    "end": lambda: confidence.End(1.0, 0.8, 0.2),
    "distribution's bounds": lambda: confidence.CDFCertificate([0.5, 0.9], [1, 0]),
    "condition": lambda: composite.Cond("margin", 0),
    "plan": lambda: composite.internal.plan(rule(), [[90, 5, 5], [95, 3, 2]]),
    "list's certificate": lambda: composite.certify_counts(
        rule(), *2 * [[[900, 50, 50], [950, 25, 25]]], Procedure(n=1000)
    ),
    "fit": fitted,
    "worst ratio": lambda: worst_ratio([1.0, 0.5], [[1.0, 0.4]]),
    "votes": lambda: answers.Votes.of(row(sigma=0.5, n=10, counts=(8, 2))),
    "answered": lambda: answers.Answered(certificate(), {}),
    "set rule": lambda: answers.set_rule(100, 0.1, 0.5, schemes.gaussian(0.5)),
    "summary": lambda: answers.Summary("title", [["a"]], {"a": 1}),
    "audit": lambda: audit.Audit((finding(),), (), 1, 0, 0, (), 0),
    "finding": finding,
    "kind": lambda: audit.Kind.COUNTS,
    "item": lambda: loading.internal.Item(0, X[0], 1, None),
    "loaded": lambda: loading.Loaded(scores),
    "pictures": lambda: loading.Preprocess(8, (8, 8)),
    "table": table,
    "table data": lambda: TableData(table(), "own"),
    "comparison": lambda: reports.compare(few_rows(), few_rows(), most=9.0),
    "manifest": results.Manifest,
    "tails": lambda: oracle.Tails(-0.7, -0.7, -1.0),
    "transform": lambda: transforms.internal.named("gamma"),
    "group": lambda: transforms.internal.named("shift"),
    "class": lambda: answers.TopClass(schemes.gaussian(0.5)),
    "top-k": lambda: answers.TopK(schemes.gaussian(0.5), 2),
    "values": lambda: answers.Values(schemes.gaussian(0.5), [0.0, 0.1]),
    "maps": lambda: answers.Maps(schemes.gaussian(0.5), 0.6),
    "flag": lambda: answers.Flag(schemes.gaussian(0.5), 0.05, "score>0.5"),
    "list": lambda: answers.DecisionList(rule()),
    "masks in pairs": masking,
    "masked": lambda: masking().certify(np.zeros((4, 4))),
    "episodes": lambda: rs.frameworks.Episodes(None, scores),
    "labels": lambda: rs.frameworks.FromLabels(scores, ["no", "yes"]),
}

MADE |= {name: lambda make=make: make()[0] for name, make in SCHEMES.items()}

# Those of what nobody makes, and those that hold processes or a locked file
EXEMPT = (BaseException, rs.cluster.Workers, results.internal.Writer)
BASES = {answers.Answer, schemes.Scheme}
FRAMEWORKS = ("rsbounds.torch", "rsbounds.jax", "rsbounds.sklearn", "rsbounds.art")


def public_classes():
    """The classes of which users meet objects, from the rooms without a framework."""
    for module in public_modules():
        if module.startswith(FRAMEWORKS):
            continue
        room = importlib.import_module(module)
        for name in getattr(room, "__all__", ()):
            kind = getattr(room, name)
            if inspect.isclass(kind) and kind not in BASES:
                port = getattr(kind, "_is_protocol", False) or inspect.isabstract(kind)
                if not port and not issubclass(kind, EXEMPT):
                    yield kind


def test_each_public_class_has_an_object_here():
    pytest.importorskip("torch")  # the demo's, and no other
    made = {type(make()) for make in MADE.values()}
    assert {kind.__qualname__ for kind in public_classes() if kind not in made} == set()


@pytest.mark.parametrize("way", COPIES)
@pytest.mark.parametrize("name", MADE)
def test_a_public_object_can_be_copied(name, way):
    made = MADE[name]()
    again = COPIES[way](made)
    assert type(again) is type(made)
    if type(made).__eq__ is not object.__eq__:
        assert again == made


def test_a_copied_smooth_draws_what_its_original_would():
    torch = pytest.importorskip("torch")
    smooth = rs.torch.Smooth(torch.nn.Linear(2, 2), 2, 0.5)
    again = pickle.loads(pickle.dumps(smooth))
    x = torch.zeros(2)
    first = smooth.certify(x, n0=10, n=100, alpha=0.01, batch_size=50)
    assert copy.copy(again).certify(x, n0=10, n=100, alpha=0.01, batch_size=50) == first


@pytest.mark.parametrize("way", COPIES)
def test_a_copied_stream_goes_on_where_its_original_was(way):
    stream = sampling.internal.stream(3, 5, sampling.Phase.ESTIMATE)
    stream.random(7)
    stream.blocks(2)
    again = COPIES[way](stream)
    assert again.blocks(3) == stream.blocks(3)
    np.testing.assert_array_equal(again.random(5), stream.random(5))
