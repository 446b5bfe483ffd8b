"""Hugging Face image classifiers: ``hf:ID_OR_DIRECTORY``."""

from __future__ import annotations

import importlib.metadata
import json
from pathlib import Path
from typing import Any

from rsbounds.loading._hf_images import processor
from rsbounds.loading.callables import guarded, reason, shown
from rsbounds.loading.models import Loaded, Request
from rsbounds.loading.packages import need


def load(request: Request) -> Loaded:
    """The classifier of that directory, or of that name in the cache.

    ``args`` go to ``from_pretrained``. Only weights that run nothing are read.
    """
    name, where = request.name, request.where
    transformers = need("transformers", where)
    place = located(where, name, "config.json", download=request.download)
    settings: dict[str, Any] = {
        "local_files_only": not request.download,
        "trust_remote_code": request.allow_remote_code,
    }
    if "auto_map" in json.loads(place.read_text()) and not request.allow_remote_code:
        raise ValueError(
            f"{where} runs code of its own, which --model-args trust_remote_code=True allows"
        )
    auto = transformers.AutoModelForImageClassification

    def model() -> Any:
        if request.checkpoint is None:
            return auto.from_pretrained(name, **settings, **request.args)
        config = transformers.AutoConfig.from_pretrained(name, **settings)
        return auto.from_config(config, trust_remote_code=request.allow_remote_code)

    built = guarded(where, model)
    names = built.config.id2label
    mean, std, preprocess = processor(where, name, settings)
    return Loaded(
        built,
        mean,
        std,
        preprocess,
        [str(names[i]) for i in range(len(names))],
        describe={
            "architecture": type(built).__name__,
            "transformers": importlib.metadata.version("transformers"),
        },
    )


def located(where: str, name: str, file: str, *, download: bool) -> Path:
    """The file of a directory, of the cache, or (with ``download``) of the hub."""
    if (directory := Path(name)).is_dir():
        if not (directory / file).is_file():
            raise ValueError(f"{where}: the directory holds no {file}")
        return directory / file
    hub = need("huggingface_hub", where)
    try:
        return Path(hub.hf_hub_download(name, file, local_files_only=not download))
    except Exception as error:  # offline, no such name, no access
        cache = hub.constants.HF_HUB_CACHE
        raise ValueError(
            f"{where} is no directory, and {file} of {shown(name)} is not on disk (looked in "
            f"{shown(cache)}); fetch it with `hf download {shown(name)}`, or let this command do "
            f"so with --download ({reason(error)})"
        ) from error
