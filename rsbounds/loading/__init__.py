"""What a command is given: a model, data, a share of the inputs."""

from rsbounds.loading.callables import build, call, fingerprint, guarded
from rsbounds.loading.checkpoints import load_weights, read_weights
from rsbounds.loading.data import as_data, check_labels, open_data, prefetched
from rsbounds.loading.hashes import file_hash, is_torch, parameters_hash
from rsbounds.loading.images import Preprocess
from rsbounds.loading.models import Found, Loaded, Request, load_model, parse_arguments
from rsbounds.loading.rows import CorruptInput, Data, Item
from rsbounds.loading.shares import parts, share
from rsbounds.loading.whole_arrays import inputs, labelled_inputs

__all__ = [
    "CorruptInput",
    "Data",
    "Found",
    "Item",
    "Loaded",
    "Preprocess",
    "Request",
    "as_data",
    "build",
    "call",
    "check_labels",
    "file_hash",
    "fingerprint",
    "guarded",
    "inputs",
    "is_torch",
    "labelled_inputs",
    "load_model",
    "load_weights",
    "open_data",
    "parameters_hash",
    "parse_arguments",
    "parts",
    "prefetched",
    "read_weights",
    "share",
]
