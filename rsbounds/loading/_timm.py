"""timm's models: ``timm:NAME``."""

import math
from typing import Any

from rsbounds.loading._hf import located
from rsbounds.loading.callables import guarded
from rsbounds.loading.checkpoints import read_weights
from rsbounds.loading.images import Preprocess
from rsbounds.loading.models import Loaded, Request, unknown
from rsbounds.loading.packages import need


def load(request: Request) -> Loaded:
    """The model of that name, with its pretrained weights or a checkpoint's.

    ``args`` go to ``timm.create_model``; ``pretrained=False`` without a checkpoint leaves the
    weights random. The normalisation that timm's loader would do goes into the model.
    """
    timm, where, args = need("timm", request.where), request.where, dict(request.args)
    pretrained = args.pop("pretrained", True) and request.checkpoint is None
    if not timm.is_model(request.name):
        raise unknown("timm model", request.name, timm.list_models())
    config = guarded(where, lambda: timm.get_pretrained_cfg(request.name))
    if request.num_classes is not None:
        args["num_classes"] = request.num_classes
    if pretrained:
        if not config.hf_hub_id or config.custom_load:
            raise ValueError(f"{where}: its weights have a format of their own; give a checkpoint")
        files = (config.hf_hub_filename or "model.safetensors", "pytorch_model.bin")
        file = located(where, config.hf_hub_id, *files, download=request.download)
        weights = read_weights(file)
        request.require_classes(config.num_classes)
        args |= {"pretrained": True, "pretrained_cfg_overlay": {"state_dict": weights}}
    model = guarded(where, lambda: timm.create_model(request.name, **args))
    used = timm.data.resolve_data_config(model=model)
    labels = config.label_names
    if not labels and model.num_classes == 1000 == config.num_classes:
        labels = timm.data.ImageNetInfo("imagenet-1k").label_names()  # folders are named so
    origin = "checkpoint" if request.checkpoint is not None else "random"
    return Loaded(
        model,
        used["mean"],
        used["std"],
        _preprocess(where, used),
        labels,
        model.num_classes,
        {
            "timm": timm.__version__,
            "weights": f"{config.architecture}.{config.tag}" if pretrained else origin,
        },
    )


def _preprocess(where: str, config: dict[str, Any]) -> Preprocess:
    channels, height, width = config["input_size"]
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
