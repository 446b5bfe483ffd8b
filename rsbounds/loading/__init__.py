"""What a command is given: a model, data, a share of the inputs."""

# "X as X": for other rooms of the package; what users call is in __all__
from rsbounds.loading._loaded import Loaded
from rsbounds.loading._loaded import unknown as unknown
from rsbounds.loading.archives import inputs
from rsbounds.loading.callables import build, fingerprint
from rsbounds.loading.callables import call as call
from rsbounds.loading.callables import guarded as guarded
from rsbounds.loading.data import as_data, check_labels, open_data, prefetched
from rsbounds.loading.hashes import file_hash
from rsbounds.loading.images import Preprocess
from rsbounds.loading.models import load_model, parse_arguments
from rsbounds.loading.parameters import is_torch as is_torch
from rsbounds.loading.rows import CorruptInput, Data, Item
from rsbounds.loading.shares import share as share

__all__ = [
    "CorruptInput",
    "Data",
    "Item",
    "Loaded",
    "Preprocess",
    "as_data",
    "build",
    "check_labels",
    "file_hash",
    "fingerprint",
    "inputs",
    "load_model",
    "open_data",
    "parse_arguments",
    "prefetched",
]


def __dir__() -> list[str]:
    return sorted(__all__)
