"""What other rooms of the package take of this one besides its public names."""

from rsbounds.loading._forms import DATA, MODELS, forms
from rsbounds.loading._loaded import unknown
from rsbounds.loading._sheet import TABLES
from rsbounds.loading._table_data import TableData, by_name
from rsbounds.loading.archives import inputs
from rsbounds.loading.callables import build, call, fingerprint, guarded
from rsbounds.loading.data import check_labels, prefetched
from rsbounds.loading.models import parse_arguments
from rsbounds.loading.parameters import is_torch
from rsbounds.loading.rows import Item
from rsbounds.loading.shards import shard
from rsbounds.loading.tables import Table
from rsbounds.loading.texts import TextData, read_texts

__all__ = [
    "DATA",
    "MODELS",
    "TABLES",
    "Item",
    "Table",
    "TableData",
    "TextData",
    "build",
    "by_name",
    "call",
    "check_labels",
    "fingerprint",
    "forms",
    "guarded",
    "inputs",
    "is_torch",
    "parse_arguments",
    "prefetched",
    "read_texts",
    "shard",
    "unknown",
]
