"""The forms of models and data that are read, and what to do with others' files."""

from __future__ import annotations

from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.text import shown

_CODE = ("MODULE:CALLABLE", "path/to/file.py:CALLABLE")
#: As the options of the command line list them too.
DATA = (
    "FILE.npz (x, y)",
    "FILE.npy with FILE.labels.npy",
    "FILE.csv or FILE.parquet with a target",
    "imagefolder:DIR",
    "hf:ID_OR_DIRECTORY[:SPLIT]",
    *_CODE,
)
MODELS = (
    "timm:NAME",
    "torchvision:NAME",
    "hf:ID_OR_DIRECTORY",
    "onnx:FILE",
    "sklearn:FILE",
    *_CODE,
)
_SAVED = 'np.savez("data.npz", x=..., y=...) saves what {} returns'
_OTHER_DATA = {
    ".mat": _SAVED.format("scipy.io.loadmat(FILE)"),
    ".h5": _SAVED.format("h5py.File(FILE)[NAME][:]"),
    ".hdf5": _SAVED.format("h5py.File(FILE)[NAME][:]"),
    ".pkl": _SAVED.format("pickle.load of a file that you trust"),
    ".pickle": _SAVED.format("pickle.load of a file that you trust"),
    ".pt": _SAVED.format("torch.load(FILE), as arrays,"),
    ".pth": _SAVED.format("torch.load(FILE), as arrays,"),
    ".tsv": "a table with tabs is read with a target and separator='tab'",
    ".txt": "a table is read with a target and its separator, such as separator='tab'",
    ".xlsx": "pandas.read_excel(FILE).to_csv(NAME.csv, index=False) makes a table",
    ".feather": "pandas.read_feather(FILE).to_parquet(NAME.parquet) makes a table",
    ".json": "pandas.read_json(FILE).to_csv(NAME.csv, index=False) makes a table",
    ".jsonl": "put it into a directory, which hf:DIRECTORY reads",
    ".lmdb": "return a torch Dataset of it from code of your own, MODULE:CALLABLE",
    ".tfrecord": "return pairs (x, y) from code of your own, MODULE:CALLABLE",
    ".tar": "unpack it: imagefolder:DIR reads DIR/CLASS/*.jpg",
    ".tar.gz": "unpack it: imagefolder:DIR reads DIR/CLASS/*.jpg",
    ".tgz": "unpack it: imagefolder:DIR reads DIR/CLASS/*.jpg",
    ".zip": "unpack it: imagefolder:DIR reads DIR/CLASS/*.jpg",
}
_WEIGHTS = (
    "return the network from code of your own, path/to/file.py:CALLABLE, and give the "
    "file as checkpoint"
)
_OWN_MODEL = "load it in code of your own, path/to/file.py:CALLABLE, which returns it"
_OTHER_MODELS = {
    ".pt": _WEIGHTS,
    ".pth": _WEIGHTS,
    ".ckpt": _WEIGHTS,
    ".safetensors": _WEIGHTS,
    ".tar": _WEIGHTS,
    ".onnx": "say onnx:FILE",
    ".skops": "say sklearn:FILE",
    ".pkl": "skops.io.dump(estimator, FILE) makes a file that sklearn:FILE reads",
    ".pickle": "skops.io.dump(estimator, FILE) makes a file that sklearn:FILE reads",
    ".joblib": "skops.io.dump(estimator, FILE) makes a file that sklearn:FILE reads",
    ".h5": _OWN_MODEL,
    ".keras": _OWN_MODEL,
    ".pb": _OWN_MODEL,
    ".tflite": _OWN_MODEL,
    ".py": "name the function in it that returns the model, path/to/file.py:CALLABLE",
}


def unknown_data(place: str) -> ArgumentError:
    """The error for data of no known form."""
    return _unknown("data", place, DATA, _OTHER_DATA)


def unknown_model(spec: str) -> ArgumentError:
    """The error for a model of no known form."""
    return _unknown("model", spec, MODELS, _OTHER_MODELS)


def forms(known: tuple[str, ...]) -> str:
    """Forms as a sentence has them."""
    return f"{', '.join(known[:-1])} or {known[-1]}"


def _unknown(
    argument: str, spec: str, known: tuple[str, ...], others: dict[str, str]
) -> ArgumentError:
    ends = [ending for ending in others if spec.lower().endswith(ending)]
    step = f": {others[max(ends, key=len)]}" if ends else ""
    return ArgumentError(argument, f"must be {forms(known)}; got {shown(spec)!r}{step}")
