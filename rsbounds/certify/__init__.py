"""The engine: for each input draw what the answer asks for, answer, append the row.

Nothing here knows a framework, a theory or an answer: a
:class:`rsbounds.sampling.Sampler` turns an input into what an
:class:`rsbounds.answers.Answer` asks for, under the noise of a
:class:`rsbounds.schemes.Scheme`.
"""

from rsbounds.answers import certify_counts
from rsbounds.certify._dataset import certify_dataset
from rsbounds.certify._forecast import forecast
from rsbounds.certify._input import certify, certify_radius, predict
from rsbounds.certify._margin import measure_margin
from rsbounds.certify._run import Settings
from rsbounds.procedure import Procedure

__all__ = [
    "Procedure",
    "Settings",
    "certify",
    "certify_counts",
    "certify_dataset",
    "certify_radius",
    "forecast",
    "measure_margin",
    "predict",
]


def __dir__() -> list[str]:
    return sorted(__all__)
