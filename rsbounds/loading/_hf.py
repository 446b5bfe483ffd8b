"""Hugging Face image classifiers: ``hf:ID_OR_DIRECTORY``."""

from __future__ import annotations

import importlib.metadata
import json
from pathlib import Path
from typing import Any

from rsbounds.loading._hf_images import processor
from rsbounds.loading.callables import guarded, reason, shown
from rsbounds.loading.checkpoints import load_weights
from rsbounds.loading.models import Found, Request
from rsbounds.loading.packages import need


def load(request: Request) -> Found:
    """The classifier of that directory, or of that name in the cache.

    ``args`` go to ``from_pretrained``. Only weights that run nothing are read. The processor's
    mean and standard deviation go into the model; its resizing and cropping are carried out by
    Pillow.
    """
    transformers = need("transformers", f"--model hf:{request.name}")
    where = f"--model hf:{shown(request.name)}"
    place = located(where, request.name, "config.json", download=request.download)
    settings: dict[str, Any] = {
        "local_files_only": not request.download,
        "trust_remote_code": request.allow_remote_code,
    }
    config = json.loads(place.read_text())
    if "auto_map" in config and not request.allow_remote_code:
        raise ValueError(
            f"{where} runs code of its own, which --model-args trust_remote_code=True allows"
        )
    auto = transformers.AutoModelForImageClassification
    if request.checkpoint is None:
        model = guarded(
            where, lambda: auto.from_pretrained(request.name, **settings, **request.args)
        )
    else:
        model = guarded(
            where,
            lambda: auto.from_config(
                transformers.AutoConfig.from_pretrained(request.name, **settings),
                trust_remote_code=request.allow_remote_code,
            ),
        )
        load_weights(where, model, request.checkpoint)
    names = model.config.id2label
    images = processor(where, request.name, settings)
    return Found(
        model,
        images.mean,
        images.std,
        images.preprocess,
        [str(names[i]) for i in range(len(names))],
        describe={
            "architecture": type(model).__name__,
            "transformers": importlib.metadata.version("transformers"),
        },
    )


def located(where: str, name: str, file: str, *, download: bool, kind: str = "model") -> Path:
    """The file of a directory, of the cache, or (with ``download``) of the hub."""
    if (directory := Path(name)).is_dir():
        if not (directory / file).is_file():
            raise ValueError(f"{where}: the directory holds no {file}")
        return directory / file
    hub = need("huggingface_hub", where)
    try:
        found = hub.hf_hub_download(name, file, repo_type=kind, local_files_only=not download)
    except Exception as error:  # offline, no such name, no access
        cache = hub.constants.HF_HUB_CACHE
        raise ValueError(
            f"{where} is no directory, and {file} of {shown(name)} is not on disk (looked in "
            f"{shown(cache)}); fetch it with `hf download {shown(name)}`, or let this command do "
            f"so with --download ({reason(error)})"
        ) from error
    return Path(found)
