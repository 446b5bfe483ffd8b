"""timm's models: ``timm:NAME``."""

from __future__ import annotations

import math
import os
from typing import Any

from rsbounds.loading.callables import guarded, shown
from rsbounds.loading.checkpoints import load_weights, read_weights
from rsbounds.loading.images import Preprocess
from rsbounds.loading.models import Found, Request, unknown
from rsbounds.loading.packages import need


def load(request: Request) -> Found:
    """The model of that name, with its pretrained weights or a checkpoint's.

    ``args`` go to ``timm.create_model``; ``pretrained=False`` without a checkpoint leaves the
    weights random. The normalisation that timm's loader would do goes into the model.
    """
    timm = need("timm", f"--model timm:{shown(request.name)}")
    where = f"--model timm:{shown(request.name)}"
    args = dict(request.args)
    pretrained = args.pop("pretrained", request.checkpoint is None)
    if not timm.is_model(request.name):
        raise unknown("timm model", request.name, timm.list_models())
    config = timm.get_pretrained_cfg(request.name)
    if request.num_classes is not None:
        args["num_classes"] = request.num_classes
    weights: dict[str, Any] = {}
    if pretrained and request.checkpoint is None:
        file = _file(where, config, download=request.download)
        if request.num_classes not in (None, config.num_classes):
            raise ValueError(
                f"num_classes is {request.num_classes}, but the weights of timm:{request.name} "
                f"have {config.num_classes}; a checkpoint may have others"
            )
        weights = {"pretrained": True, "pretrained_cfg_overlay": {"state_dict": read_weights(file)}}
    model = guarded(where, lambda: timm.create_model(request.name, **args, **weights))
    if request.checkpoint is not None:
        load_weights(where, model, request.checkpoint)
    used = timm.data.resolve_data_config(model=model)
    return Found(
        model,
        used["mean"],
        used["std"],
        _preprocess(where, used),
        _labels(timm, config, model.num_classes),
        model.num_classes,
        {"timm": timm.__version__, "weights": _weights(request, config, pretrained)},
    )


def _labels(timm: Any, config: Any, classes: int) -> list[str] | None:
    """Names of the classes; ImageNet's are its synsets, which its folders are named after."""
    if config.label_names:
        return list(config.label_names)
    if classes == 1000 == config.num_classes:
        return list(timm.data.ImageNetInfo("imagenet-1k").label_names())
    return None


def _weights(request: Request, config: Any, pretrained: bool) -> str:
    if request.checkpoint is not None:
        return "checkpoint"
    return f"{config.architecture}.{config.tag}" if pretrained else "random"


def _file(where: str, config: Any, *, download: bool) -> str:
    """Where the pretrained weights lie, fetched there if they may be."""
    name = config.hf_hub_id
    if not name or config.custom_load:
        raise ValueError(f"{where}: its weights are in a format of their own; give a checkpoint")
    hub = need("huggingface_hub", where)
    files = [config.hf_hub_filename or "model.safetensors", "pytorch_model.bin"]
    for offline in (True, False) if download else (True,):
        for file in files:
            try:
                return str(hub.hf_hub_download(name, file, local_files_only=offline))
            except Exception as error:  # not there, no network
                failure = error
    cache = os.path.join(hub.constants.HF_HUB_CACHE, f"models--{name.replace('/', '--')}")
    raise ValueError(
        f"{where}: its weights ({name}, {files[0]}) are not on disk; looked in {shown(cache)}. "
        f"Fetch them with `hf download {name}`, let this command do so with --download, or give "
        "a checkpoint"
    ) from failure


def _preprocess(where: str, config: dict[str, Any]) -> Preprocess:
    channels, *size = config["input_size"]
    height, width = size
    if channels not in (1, 3):
        raise ValueError(f"{where} takes {channels} channels; images have 3 or 1")
    scaled = tuple(math.floor(side / config["crop_pct"]) for side in (height, width))
    if config["crop_mode"] == "center" and height == width:
        resize: int | tuple[int, int] = scaled[0]
    elif config["crop_mode"] == "squash":
        resize = (scaled[0], scaled[1])
    else:
        raise ValueError(
            f"{where}: cropping of mode {config['crop_mode']} to {height} x {width} is not "
            "supported; give the images ready-made, as an npz file"
        )
    return Preprocess(resize, (height, width), config["interpolation"], channels)
