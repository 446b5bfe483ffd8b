"""Hugging Face image classifiers: ``hf:ID_OR_DIRECTORY``."""

from __future__ import annotations

import importlib.metadata
import json
from pathlib import Path
from typing import Any

from rsbounds._numerics.text import shown
from rsbounds.loading._hf_images import processor
from rsbounds.loading.callables import guarded, reason
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
    config_file = guarded(where, lambda: json.loads(place.read_text()))
    if "auto_map" in config_file and not request.allow_remote_code:
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
    labels = guarded(where, lambda: [str(names[i]) for i in range(len(names))])
    mean, std, preprocess = processor(where, name, settings)
    return Loaded(
        built,
        mean,
        std,
        preprocess,
        labels,
        describe={
            "architecture": type(built).__name__,
            "transformers": importlib.metadata.version("transformers"),
        },
    )


def located(where: str, name: str, *files: str, download: bool) -> Path:
    """The first of the files there is: in a directory, the cache or (``download``) the hub."""
    if (directory := Path(name)).is_dir():
        for file in files:
            if (directory / file).is_file():
                return directory / file
        raise ValueError(f"{where}: the directory holds no {files[0]}")
    hub = need("huggingface_hub", where)
    for offline in (True, False) if download else (True,):
        for file in files:
            try:
                return Path(hub.hf_hub_download(name, file, local_files_only=offline))
            except Exception as error:  # offline, no such name, no access
                failure = error
    raise ValueError(
        f"{where}: {files[0]} of {shown(name)} is not on disk (looked in "
        f"{shown(hub.constants.HF_HUB_CACHE)}); fetch it with `hf download {shown(name)}`, or let "
        f"this command do so with --download ({reason(failure)})"
    ) from failure
