"""The engine: for each input draw what the answer asks for, answer, append the row.

Nothing here knows a framework, a theory or an answer: a
:class:`rsbounds.sampling.Sampler` turns an input into what an
:class:`rsbounds.answers.Answer` asks for, under the noise of a
:class:`rsbounds.schemes.Scheme`.
"""

import sys

# "X as X": for other rooms of the package; what users call is in __all__
from rsbounds.answers import certify_counts
from rsbounds.certify._begin import Selection as Selection
from rsbounds.certify._dataset import certify_dataset
from rsbounds.certify._forecast import Expected as Expected
from rsbounds.certify._forecast import Forecast, forecast
from rsbounds.certify._forecast import cheapest as cheapest
from rsbounds.certify._input import certified as certified
from rsbounds.certify._input import certify, certify_radius, predict
from rsbounds.certify._job import Build as Build
from rsbounds.certify._job import Counts as Counts
from rsbounds.certify._job import Here as Here
from rsbounds.certify._job import Job as Job
from rsbounds.certify._job import Outcome as Outcome
from rsbounds.certify._job import Work as Work
from rsbounds.certify._job import source_of as source_of
from rsbounds.certify._margin import Measured as Measured
from rsbounds.certify._margin import measure_margin
from rsbounds.certify._memory import Memory, instance_sigma
from rsbounds.certify._module import Certify as _Certify
from rsbounds.certify._resumed import drawn_columns as drawn_columns
from rsbounds.certify._run import Settings
from rsbounds.certify._stopping import Stopping as Stopping
from rsbounds.certify._too_few import hopeless as hopeless
from rsbounds.procedure import Procedure
from rsbounds.sampling import ArraySampler, Sampler, stream

__all__ = [
    "ArraySampler",
    "Forecast",
    "Memory",
    "Procedure",
    "Sampler",
    "Settings",
    "certify",
    "certify_counts",
    "certify_dataset",
    "certify_radius",
    "forecast",
    "instance_sigma",
    "measure_margin",
    "predict",
    "stream",
]


def __dir__() -> list[str]:
    return sorted(__all__)


sys.modules[__name__].__class__ = _Certify
