"""What other rooms of the package take of this one besides its public names."""

from rsbounds.certify._begin import Selection
from rsbounds.certify._dataset import carry_out
from rsbounds.certify._forecast import Expected, Forecast, cheapest
from rsbounds.certify._input import certified
from rsbounds.certify._job import Counts, Job
from rsbounds.certify._margin import Measured
from rsbounds.certify._resumed import drawn_columns
from rsbounds.certify._stopping import job_of
from rsbounds.certify._too_few import hopeless
from rsbounds.certify._work import Build, Here, Outcome, Work, source_of

__all__ = [
    "Build",
    "Counts",
    "Expected",
    "Forecast",
    "Here",
    "Job",
    "Measured",
    "Outcome",
    "Selection",
    "Work",
    "carry_out",
    "certified",
    "cheapest",
    "drawn_columns",
    "hopeless",
    "job_of",
    "source_of",
]
