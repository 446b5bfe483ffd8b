"""Monte Carlo certification over any sampler.

Nothing here knows a framework or a theory: a :class:`rsbounds.sampling.Sampler` turns
an input into counts of classes under noise, a :class:`rsbounds.schemes.Scheme` turns
scores into a radius.
"""

# "X as X": for other rooms of the package; what users call is in __all__
from rsbounds.certify._counts import certify_counts
from rsbounds.certify._counts import certify_evidence as certify_evidence
from rsbounds.certify._counts import class_counts as class_counts
from rsbounds.certify._dataset import Progress, certify_dataset
from rsbounds.certify._input import certify, certify_radius, predict
from rsbounds.certify._input import check_noise as check_noise
from rsbounds.certify._input import sampler_of as sampler_of
from rsbounds.certify._this_input import Memory, instance_sigma
from rsbounds.certify._work import Build as Build
from rsbounds.certify._work import Counts
from rsbounds.certify._work import Here as Here
from rsbounds.certify._work import Outcome as Outcome
from rsbounds.certify._work import Task as Task
from rsbounds.certify._work import Work as Work
from rsbounds.certify._work import further as further
from rsbounds.certify._work import task as task
from rsbounds.procedure import Procedure
from rsbounds.sampling import ArraySampler, Sampler, stream

__all__ = [
    "ArraySampler",
    "Counts",
    "Memory",
    "Procedure",
    "Progress",
    "Sampler",
    "certify",
    "certify_counts",
    "certify_dataset",
    "certify_radius",
    "instance_sigma",
    "predict",
    "stream",
]
