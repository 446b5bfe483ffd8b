"""Every entry of manifests and cards: its type, and who answers for it.

Whatever reads or prints an entry knows it from here: the check of a file that is read,
the audit that names what is stated, cards and pages that print a fact with its status,
and the table of entries in the documentation. A fact has one status: it is **proved**
from the rows' counts, **compared** with something that was given, or **stated** by its
writer. What is compared with the data, the model or the noise is stated until these are
given.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import chain
from typing import Any, NamedTuple

from rsbounds._numerics.answered import By
from rsbounds._numerics.parameters import Parameter, Type
from rsbounds.noises.grid_noise import LEVELS
from rsbounds.results._schema import Schema
from rsbounds.schemes import METHODS
from rsbounds.schemes.internal import CODE


class Status(StrEnum):
    """What is known of a fact."""

    PROVED = "proved"
    COMPARED = "compared"
    STATED = "stated"


class Fact(NamedTuple):
    """One entry.

    Parameters
    ----------
    name : str
        Where it stands; ``*`` is any name, ``[]`` each entry of an array.
    schema : mapping
        Its type and domain, as JSON Schema says it.
    by : By
        Who answers for it.
    about : str
        What it says.
    required : bool
        Whether no file is without it.
    """

    name: str
    schema: Schema
    by: By
    about: str
    required: bool = False

    def status(self, available: Collection[By]) -> Status:
        """Its status in an audit to which those of ``available`` answer."""
        if self.by is By.COUNTS or (self.by is By.METHOD and By.METHOD in available):
            return Status.PROVED
        if self.by is By.FILE or self.by in available:
            return Status.COMPARED
        return Status.STATED


#: Inputs of a run, at most.
MOST_INPUTS = 10**7


def _whole(low: int, high: int = 2**62) -> Schema:
    # larger numbers are a doctored file's, whose lists would fill the memory
    return {"type": "integer", "minimum": low, "maximum": high}


def _or_null(schema: Schema) -> Schema:
    return {**schema, "type": [schema["type"], "null"]}


def _array(items: Schema) -> Schema:
    return {"type": "array", "items": items}


_ANY: Schema = {}
_SEED: Schema = {
    "type": ["integer", "string"],
    "pattern": "os",
    "minimum": 0,
    "maximum": 2**200,
}
_TEXT: Schema = {"type": "string"}
_TEXTS = _array(_TEXT)
_FLAG: Schema = {"type": "boolean"}
_NUMBER: Schema = {"type": "number"}
_OBJECT: Schema = {"type": "object"}
_HASH: Schema = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
_RELEASE = r"[0-9]+(\.[0-9]+)*((a|b|rc|\.post|\.?dev)[0-9]+)*"
_VERSION: Schema = {
    "type": "string",
    "pattern": rf"^{_RELEASE}(\+[a-z0-9._-]{{1,30}})?$",
}
_LABELS = _array({"type": ["string", "number", "boolean"]})
_SHARE: Schema = {"type": "number", "minimum": 0, "maximum": 1}

_MODEL = (
    Fact("spec", _TEXT, By.MODEL, "the model by name, or the code that made it"),
    Fact("source", _or_null(_HASH), By.MODEL, "hash of that code's file"),
    Fact("parameters", _or_null(_HASH), By.MODEL, "hash of the weights"),
    Fact("weights", _ANY, By.MODEL, "where weights came from, or hashes of files"),
    Fact("network", _TEXT, By.MODEL, "its architecture, in words"),
    Fact("architecture", _TEXT, By.MODEL, "the class of a transformers model"),
    Fact("args", _OBJECT, By.MODEL, "arguments that it was made with"),
    Fact("checkpoint", _or_null(_HASH), By.MODEL, "hash of the file of weights"),
    Fact("preprocessing", _or_null(_OBJECT), By.MODEL, "what inputs go through"),
    Fact("tokenizer", _OBJECT, By.MODEL, "what made tokens of texts"),
    Fact("labels", _LABELS, By.MODEL, "names of its classes"),
    Fact("denoiser", _ANY, By.MODEL, "the denoiser in front, of each level"),
    Fact("described", _OBJECT, By.MODEL, "what the writer says besides"),
    Fact("stages", _array(_OBJECT), By.WRITER, "the models of a list's runs"),
    Fact("timm", _VERSION, By.WRITER, "version of the package"),
    Fact("torchvision", _VERSION, By.WRITER, "version of the package"),
    Fact("transformers", _VERSION, By.WRITER, "version of the package"),
    Fact("onnxruntime", _VERSION, By.WRITER, "version of the package"),
    Fact("scikit-learn", _VERSION, By.WRITER, "version of the package"),
    Fact("providers", _TEXTS, By.WRITER, "what ran an ONNX model"),
)
_DATA = (
    Fact("rows", _whole(0), By.DATA, "inputs that the data have"),
    Fact("scale", {"type": ["number", "null"]}, By.DATA, "stored numbers over x"),
    Fact("x", _HASH, By.DATA, "hash of inputs spread over the data"),
    Fact("labels", _HASH, By.DATA, "hash of all labels"),
    Fact("kind", _TEXT, By.WRITER, "how the data lie"),
    Fact("shape", _array(_whole(0)), By.DATA, "shape of an input"),
    Fact("dtype", _TEXT, By.WRITER, "type of the stored numbers"),
    Fact("whole", _FLAG, By.DATA, "whether inputs are whole numbers"),
    Fact("tokenizer", _OBJECT, By.WRITER, "what made tokens of texts"),
    Fact("missing", _TEXT, By.WRITER, "how missing numbers are filled in"),
    Fact("names", _HASH, By.WRITER, "hash of the files' names"),
    Fact("numbered_by", _ANY, By.WRITER, "how classes have their numbers"),
    Fact("split", {"type": ["string", "null"]}, By.WRITER, "the part of the data set"),
    Fact("column", _TEXT, By.WRITER, "where its inputs stand"),
    Fact("by_rows", _FLAG, By.WRITER, "whether inputs are the rows of a matrix"),
    Fact("preprocessing", _or_null(_OBJECT), By.MODEL, "what pictures go through"),
    Fact("pillow", _VERSION, By.WRITER, "version of the package"),
    Fact("start", _whole(0), By.FILE, "the first input selected"),
    Fact("skip", _whole(1), By.FILE, "every how many-th is"),
    Fact("max", _whole(-1), By.FILE, "below which; -1: all"),
    Fact("inputs", _whole(0, MOST_INPUTS), By.FILE, "how many are", required=True),
    Fact("total", _whole(0), By.DATA, "of how many"),
)
_ANSWER = (
    Fact("name", _TEXT, By.FILE, "what was asked", required=True),
    Fact("k", _whole(1), By.COUNTS, "top-k: among how many classes"),
    Fact("radii", _array(_NUMBER), By.COUNTS, "values: the radii of the intervals"),
    Fact("p", _NUMBER, By.COUNTS, "values: the quantile"),
    Fact("tau", _NUMBER, By.COUNTS, "maps: what probabilities are above"),
    Fact("radius", _NUMBER, By.COUNTS, "maps: the radius of all positions"),
    Fact("truth", _TEXT, By.TRUTH, "maps: hash of the true maps"),
    Fact("threshold", _NUMBER, By.COUNTS, "flag: what an alarm's probability is above"),
    Fact(
        "flagged",
        {"type": ["array", "string"]},
        By.COUNTS,
        "flag: the classes that raise the alarm, or score>NUMBER",
    ),
    Fact("calibrated.threshold", _NUMBER, By.WRITER, "flag: what was chosen"),
    Fact("calibrated.share", _SHARE, By.WRITER, "flag: of benign inputs, may fail"),
    Fact("calibrated.n0", _whole(1, 10**15), By.WRITER, "flag: of those that chose"),
    Fact("calibrated.n", _whole(1, 10**15), By.WRITER, "flag: of those that chose"),
    Fact("calibrated.alpha", _NUMBER, By.WRITER, "flag: of those that chose"),
    Fact("calibrated.bound", _TEXT, By.WRITER, "flag: of those that chose"),
    Fact("calibrated.inputs", _TEXTS, By.WRITER, "flag: hashes of those that chose"),
    Fact("fitted", _TEXTS, By.WRITER, "list: rows that its rule was fitted to"),
)
_TYPES: Mapping[Type, Schema] = {
    Type.ANY: _ANY,
    Type.COUNT: _whole(1),
    Type.FLAG: _FLAG,
    Type.HASH: _HASH,
    Type.NUMBER: _NUMBER,
    Type.OBJECT: _OBJECT,
}


def _parameters() -> Iterator[Fact]:
    """The parameters of all methods, by name.

    Who answers for one follows from the method, whose ``who_answers`` says it.
    """
    by_name: dict[str, list[Parameter]] = {}
    for parameter in (*chain(*(m.declared for m in METHODS.own)), CODE):
        if parameter.by is not None:
            by_name.setdefault(parameter.name, []).append(parameter)
    for name, namesakes in by_name.items():
        kinds = {parameter.type for parameter in namesakes}
        schema = _TYPES[kinds.pop()] if len(kinds) == 1 else _ANY
        about = dict.fromkeys(parameter.about for parameter in namesakes)
        yield Fact(name, schema, By.METHOD, ", or ".join(about))


_PROCEDURE = (
    Fact("n0", _whole(1, 10**15), By.RERUN, "samples that choose"),
    Fact("n", _whole(1, 10**15), By.COUNTS, "samples that estimate, at most"),
    Fact("alpha", _NUMBER, By.COUNTS, "probability that a row is wrong"),
    Fact("seed", _SEED, By.RERUN, "names the samples, or os: the system's bits"),
    Fact("bound", _TEXT, By.COUNTS, "the confidence bound"),
    Fact("runner_up", _FLAG, By.COUNTS, "whether the second class has a bound"),
    Fact("target_radius", {"type": ["number", "null"]}, By.COUNTS, "or nothing"),
    Fact("tolerance", _NUMBER, By.RERUN, "what looks may miss, in sigma"),
    Fact("only_correct", _FLAG, By.FILE, "whether wrong inputs are not sampled"),
    Fact("margin", _NUMBER, By.MARGIN, "by which votes count"),
)
_ENGINE = (
    Fact("device", {"type": "string", "pattern": "^[a-z]+$"}, By.WRITER, "what ran"),
    Fact("autocast", {"enum": [None, "bfloat16", "float16"]}, By.WRITER, "precision"),
    Fact("compile", _FLAG, By.WRITER, "whether torch compiled the model"),
    Fact("threads", _whole(1), By.WRITER, "threads that ran"),
    Fact("tf32.*", _FLAG, By.WRITER, "whether products were in TF32"),
    Fact("sound_noise", _FLAG, By.RERUN, "whether noise was exact, on a grid"),
    Fact("grid", _whole(1), By.RERUN, "the levels of that grid"),
    Fact("episodes", _FLAG, By.MODEL, "that each sample is an episode"),
    Fact("margin.basis", {"enum": ["stated", "measured"]}, By.MARGIN, "of margin"),
    Fact("margin.largest", _NUMBER, By.MARGIN, "largest difference measured"),
    Fact("margin.multiple", _whole(1), By.FILE, "times which it is"),
    Fact("margin.settings", _TEXTS, By.WRITER, "what settings were compared"),
    Fact("margin.inputs", _array(_whole(0)), By.WRITER, "on which inputs"),
    Fact("margin.samples", _whole(0), By.WRITER, "on how many samples"),
    Fact("described", _OBJECT, By.WRITER, "what the writer says besides"),
)


def drawn_on(levels: int | None) -> dict[str, Any]:
    """What a manifest's engine says of noise rounded to the grid of 1/levels.

    Nothing of noise that is not on a grid, which is None.
    """
    if levels is None:
        return {}
    return {"sound_noise": True} | ({} if levels == LEVELS else {"grid": levels})


def levels_of(engine: Mapping[str, Any]) -> int | None:
    """The levels of the grid that noise was rounded to; None where it was not.

    ValueError for levels without such noise.
    """
    if engine.get("sound_noise"):
        return int(engine.get("grid", LEVELS))
    if "grid" in engine:
        raise ValueError("engine.grid needs engine.sound_noise")
    return None


def plays_episodes(manifest: Any) -> bool:
    """Whether a manifest says that each sample is an episode."""
    return bool(manifest.engine.get("episodes"))


_RUN = (
    Fact("data", _TEXT, By.WRITER, "where the data lay"),
    Fact("batch", _whole(1), By.WRITER, "samples of a forward pass"),
    Fact("started", _TEXT, By.WRITER, "when the run began"),
    Fact("machines", _array(_OBJECT), By.WRITER, "machines and their settings"),
    Fact("commitment", _HASH, By.FILE, "hash of the commitment"),
    Fact("asked.runner_up", {"const": True}, By.WRITER, "before two classes were seen"),
    Fact("described", _OBJECT, By.WRITER, "what the writer says besides"),
)
_STEP = (
    Fact("rows", _whole(0), By.WRITER, "rows from before a change"),
    Fact("changes", _TEXTS, By.WRITER, "what was accepted"),
    Fact("run", _OBJECT, By.WRITER, "the run that went on"),
    Fact("corrupt[].input", {"type": "integer"}, By.DATA, "an input left out"),
    Fact("corrupt[].problem", _TEXT, By.DATA, "why it can't be decoded"),
    Fact("recertified", _TEXT, By.WRITER, "the file certified again"),
    Fact("sha256", _HASH, By.WRITER, "hash of that file"),
    Fact("alpha", _NUMBER, By.WRITER, "what it was, as the next ones"),
    Fact("bound", _TEXT, By.WRITER, "the bound before"),
    Fact("runner_up", _FLAG, By.WRITER, "runner_up before"),
    Fact("method", _TEXT, By.WRITER, "the method before"),
    Fact("rule", _TEXT, By.WRITER, "the file of the rule"),
    Fact("threshold", _NUMBER, By.WRITER, "flag: the threshold before"),
)


def _under(section: str, facts: Sequence[Fact]) -> tuple[Fact, ...]:
    return tuple(fact._replace(name=f"{section}.{fact.name}") for fact in facts)


#: The entries of a manifest. Those of ``parameters`` depend on the method, and which of
#: them a method has is its own to say.
MANIFEST: tuple[Fact, ...] = (
    Fact("format", {"const": 3}, By.FILE, "of the file", required=True),
    *_under("model", _MODEL),
    *_under("data", _DATA),
    *_under("answer", _ANSWER),
    Fact("method", _TEXT, By.FILE, "the scheme"),
    Fact("scope", _TEXT, By.FILE, "for which classifier rows hold"),
    *_under("parameters", [*_parameters()]),
    *_PROCEDURE,
    *_under("engine", _ENGINE),
    Fact("shard", _TEXT, By.FILE, "which part of the inputs"),
    *_under("versions", [
        Fact(name, _VERSION, By.WRITER, "version of the package")
        for name in ("rsbounds", "numpy", "scipy", "torch")
    ]),
    Fact("probe.*", _TEXT, By.RERUN, "selection counts of an input"),
    *_under("history[]", _STEP),
    *_under("run", _RUN),
)  # fmt: skip

ABOUT = {  # of a card's words: the entry of the manifest that they repeat
    "model": "model.spec",
    "data": "run.data",
    "sigma": "parameters.sigma",
    "norm": "parameters.norm",
    "n": "n",
    "alpha": "alpha",
    "bound": "bound",
    "inputs": "data.x",
    "method": "method",
    "scope": "scope",
    "holds for the program": "margin",
}
#: Of the public table: what whoever enters a card says of it.
_ENTERED = (
    *("title", "code", "paper", "commit", "file", "chosen", "holds_at", "as_printed"),
)
_POINT = (
    Fact("radius", {"type": "number", "minimum": 0, "maximum": 1e308}, By.FILE, "at"),
    Fact("accuracy", _SHARE, By.FILE, "share of rows right within it"),
    Fact("low", _SHARE, By.FILE, "its 95 % Clopper-Pearson interval"),
    Fact("high", _SHARE, By.FILE, "its end"),
)
_QUANTITY: Schema = {"minimum": 0, "maximum": 1e308}

#: The entries of a card: all but what its writer adds is computed again from its file.
CARD: tuple[Fact, ...] = tuple(
    fact._replace(required=not fact.name.startswith("about."))
    for fact in (
        Fact("card", {"const": 1}, By.FILE, "version of this form"),
        Fact("rsbounds", _VERSION, By.WRITER, "version that wrote the card"),
        Fact("name", _TEXT, By.FILE, "name of the file"),
        *(Fact(f"about.{name}", _TEXT, By.FILE, f"{entry} in words")
          for name, entry in ABOUT.items()),
        *(Fact(f"about.{name}", _TEXT, By.WRITER, "of an entry of the public table")
          for name in _ENTERED),
        Fact("model", _OBJECT, By.FILE, "that of the manifest"),
        Fact("data", _OBJECT, By.FILE, "that of the manifest"),
        Fact("answer", {"type": "object", "required": ["name"], "properties":
                        {"name": _TEXT}}, By.FILE, "that of the manifest"),
        Fact("noise.method", _TEXT, By.FILE, "the scheme"),
        Fact("noise.sigma", _array({"type": "number", "minimum": 0}), By.FILE,
             "least and largest level of the rows"),
        Fact("noise.parameters", _OBJECT, By.FILE, "those of the manifest"),
        Fact("procedure", {"type": "object", "additionalProperties":
                           {"type": ["number", "string", "boolean"]}}, By.FILE,
             "that of the manifest"),
        Fact("scope.text", _TEXT, By.FILE, "for which classifier rows hold"),
        Fact("scope.valid", _FLAG, By.FILE, "whether it is the one that is run"),
        Fact("scope.footnote", _TEXT, By.FILE, "what must be added"),
        Fact("inputs", {"type": "integer", "minimum": 1}, By.FILE, "rows of the file"),
        Fact("missing", _whole(0), By.FILE, "inputs of the run without a row"),
        Fact("accuracy", _array({"type": "object", "required": [
            point.name for point in _POINT], "properties": {
            point.name: point.schema for point in _POINT},
            "additionalProperties": False}), By.FILE, "certified accuracies"),
        Fact("abstain", _or_null(_SHARE), By.FILE, "share of abstentions"),
        Fact("acr", {"type": ["number", "string", "null"], **_QUANTITY}, By.FILE,
             "average certified radius, or inf"),
        Fact("p_a", {"type": "object", "additionalProperties": _or_null(_SHARE)},
             By.FILE, "quantiles of the true class's lower bound"),
        Fact("report", {"type": ["object", "null"],
                        "required": ["title", "table", "figures"], "properties": {
                            "title": _TEXT, "table": _array(_TEXTS),
                            "figures": _OBJECT}}, By.FILE,
             "that of an answer that predicts no class"),
        Fact("hashes", {"type": "object", "properties": {
            "rows": _HASH, "manifest": _HASH, "commitment": _or_null(_HASH)},
            "additionalProperties": False}, By.FILE, "SHA-256 of the files"),
        Fact("verified", {"type": ["object", "null"], "required": [
            "rows", "proved", "findings", "first", "stated"], "properties": {
            "first": _TEXTS, "stated": _TEXTS},
            "additionalProperties": {"type": "integer", "minimum": 0}}, By.FILE,
             "what an audit gave: findings, and what was stated"),
        Fact("unknown", _TEXTS, By.FILE, "what no file can show"),
        Fact("notes", _TEXTS, By.FILE, "what a report must add"),
    )
)  # fmt: skip
