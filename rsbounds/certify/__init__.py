"""Monte Carlo certification over any sampler.

Nothing here knows a framework or a theory: a :class:`rsbounds.sampling.Sampler` turns an input
into counts of classes under noise, a :class:`rsbounds.schemes.Scheme` turns scores into a radius.
"""

from rsbounds.certify._dataset import certify_dataset
from rsbounds.certify._levels import instance_sigma
from rsbounds.certify._memory import Memory
from rsbounds.certify._predict import predict
from rsbounds.certify._procedure import certify, certify_counts, class_counts
from rsbounds.certify._progress import Progress
from rsbounds.certify._sequential import certify_radius, step
from rsbounds.certify._tasks import Counts, further
from rsbounds.certify._work import Build, Crew, Here, Outcome, Work
from rsbounds.sampling import ArraySampler, Sampler, block_size, stream, votes

__all__ = [
    "ArraySampler",
    "Build",
    "Counts",
    "Crew",
    "Here",
    "Memory",
    "Outcome",
    "Progress",
    "Sampler",
    "Work",
    "block_size",
    "certify",
    "certify_counts",
    "certify_dataset",
    "certify_radius",
    "class_counts",
    "further",
    "instance_sigma",
    "predict",
    "step",
    "stream",
    "votes",
]
