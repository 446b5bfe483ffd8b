"""Classifiers of two collections: ``timm:NAME`` and ``torchvision:NAME``."""

import math
import os
from typing import Any
from urllib.parse import urlsplit

from rsbounds._numerics.text import shown
from rsbounds.loading._hf import located, online
from rsbounds.loading._loaded import Loaded, Request, unknown
from rsbounds.loading.callables import guarded
from rsbounds.loading.checkpoints import read_weights
from rsbounds.loading.images import Preprocess
from rsbounds.loading.packages import need


def timm(request: Request) -> Loaded:
    """The model of that name, with its pretrained weights or a checkpoint's.

    ``args`` go to ``timm.create_model``; ``pretrained=False`` without a checkpoint
    leaves the weights random. The normalisation that timm's loader would do goes into
    the model.
    """
    where = request.where
    args = dict(request.args)
    library = need("timm", where)
    pretrained = args.pop("pretrained", True) and request.checkpoint is None
    if not library.is_model(request.name):
        raise unknown("model", request.name, library.list_models())
    config = guarded(where, lambda: library.get_pretrained_cfg(request.name))
    if pretrained:
        if not config.hf_hub_id or config.custom_load:
            raise ValueError(
                f"{where}: its weights have a format of their own; give a checkpoint"
            )
        files = (config.hf_hub_filename or "model.safetensors", "pytorch_model.bin")
        file = located(where, config.hf_hub_id, *files, download=request.download)
        weights = read_weights(file)
        request.require_classes(config.num_classes)
        args |= {"pretrained": True, "pretrained_cfg_overlay": {"state_dict": weights}}
    model = guarded(where, lambda: library.create_model(request.name, **args))
    used = library.data.resolve_data_config(model=model)
    labels = config.label_names
    if not labels and model.num_classes == 1000 == config.num_classes:
        # WordNet's names, as folders of ImageNet have them
        labels = library.data.ImageNetInfo("imagenet-1k").label_names()
    if pretrained:
        origin = f"{config.architecture}.{config.tag}"
    else:
        origin = "random" if request.checkpoint is None else "checkpoint"
    return Loaded(
        model,
        mean=used["mean"],
        std=used["std"],
        preprocess=_preprocess(where, used),
        labels=labels if len(labels or ()) == model.num_classes else None,
        describe={"timm": library.__version__, "weights": origin},
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
            f"{where}: cropping of mode {config['crop_mode']} to {height} x {width} is "
            "not supported; give the images ready-made, as an npz file"
        )
    return Preprocess(resize, (height, width), config["interpolation"], channels)


def torchvision(request: Request) -> Loaded:
    """The classifier of that name, with its best published weights or a checkpoint's.

    ``args`` go to ``torchvision.models.get_model``; ``weights=IMAGENET1K_V1`` chooses
    others, and ``weights=None`` without a checkpoint leaves them random.
    """
    where = request.where
    args = request.args
    models = need("torchvision.models", where)
    names = models.list_models(module=models)
    if request.name not in names:
        raise unknown("model", request.name, names)
    published = models.get_model_weights(request.name)
    chosen = args.pop("weights", "DEFAULT")
    if chosen not in (None, "DEFAULT", *published.__members__):
        raise unknown("weights", str(chosen), list(published.__members__))
    # without weights the transforms and names are those of the best ones all the same
    weights: Any = published[chosen or "DEFAULT"]
    images = weights.transforms()
    labels = weights.meta.get("categories")
    state = None
    if request.checkpoint is not None:
        origin = "checkpoint"
    elif chosen is None:
        origin = "random"
    else:
        origin = str(weights)
        request.require_classes(len(labels))
        state = _published(where, weights.url, download=request.download)
        args.setdefault("num_classes", len(labels))
    if request.name in ("inception_v3", "googlenet"):
        args.setdefault("init_weights", chosen is None)
        # else the network would repeat the normalisation that we put in front
        args.setdefault("transform_input", False)
    model = guarded(where, lambda: models.get_model(request.name, weights=None, **args))
    if state is not None:
        guarded(where, lambda: model.load_state_dict(state))
    # a checkpoint's classes may be any
    named = request.checkpoint is None
    named = named and args.get("num_classes", len(labels)) == len(labels)
    crop = (images.crop_size[0], images.crop_size[0])
    version = need("torchvision", where).__version__
    return Loaded(
        model,
        mean=images.mean,
        std=images.std,
        preprocess=Preprocess(images.resize_size[0], crop, images.interpolation.value),
        labels=labels if named else None,
        describe={"torchvision": version, "weights": origin},
    )


def _published(where: str, url: str, *, download: bool) -> Any:
    """The published weights, fetched to where torch keeps them if they may be."""
    hub = need("torch.hub", where)
    file = os.path.basename(urlsplit(url).path)
    path = os.path.join(hub.get_dir(), "checkpoints", file)
    if not (download or os.path.isfile(path)):
        raise ValueError(
            f"{where}: its weights are not on disk; looked for {shown(path)}. Fetch "
            f"{url} to there, let download=True do so, or give a checkpoint"
        )
    if not (os.path.isfile(path) or online(url)):
        raise ValueError(
            f"{where}: its weights are not on disk (looked for {shown(path)}), and "
            f"{url} cannot be reached from here"
        )

    def read() -> Any:
        return hub.load_state_dict_from_url(
            url,
            map_location="cpu",
            progress=False,
            check_hash=True,
            weights_only=True,
        )

    return guarded(where, read)
