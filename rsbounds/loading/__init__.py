"""What a command is given: a model, data, a share of the inputs."""

# "X as X": for other rooms of the package; what users call is in __all__
from rsbounds.loading._loaded import Loaded
from rsbounds.loading._loaded import unknown as unknown
from rsbounds.loading.archives import inputs as inputs
from rsbounds.loading.callables import build as build
from rsbounds.loading.callables import call as call
from rsbounds.loading.callables import fingerprint as fingerprint
from rsbounds.loading.callables import guarded as guarded
from rsbounds.loading.data import check_labels as check_labels
from rsbounds.loading.data import open_data, prefetched
from rsbounds.loading.images import Preprocess
from rsbounds.loading.models import load_model
from rsbounds.loading.models import parse_arguments as parse_arguments
from rsbounds.loading.parameters import is_torch as is_torch
from rsbounds.loading.rows import CorruptInput, Data, Item
from rsbounds.loading.shards import shard as shard
from rsbounds.loading.tables import Table, TableData, read_table

__all__ = [
    "CorruptInput",
    "Data",
    "Item",
    "Loaded",
    "Preprocess",
    "Table",
    "TableData",
    "load_model",
    "open_data",
    "prefetched",
    "read_table",
]


def __dir__() -> list[str]:
    return sorted(__all__)
