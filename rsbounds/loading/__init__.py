"""What a command is given: a model, data, a share of the inputs."""

from rsbounds.loading._loaded import Loaded
from rsbounds.loading.data import open_data
from rsbounds.loading.images import Preprocess
from rsbounds.loading.models import load_model
from rsbounds.loading.rows import CorruptInput, Data
from rsbounds.loading.tables import read_table

__all__ = [
    "CorruptInput",
    "Data",
    "Loaded",
    "Preprocess",
    "load_model",
    "open_data",
    "read_table",
]


def __dir__() -> list[str]:
    return sorted(__all__)
