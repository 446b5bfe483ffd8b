"""torchvision's classifiers: ``torchvision:NAME``."""

import os
from typing import Any
from urllib.parse import urlsplit

from rsbounds._numerics.text import shown
from rsbounds.loading.callables import guarded
from rsbounds.loading.images import Preprocess
from rsbounds.loading.models import Loaded, Request, unknown
from rsbounds.loading.packages import need


def load(request: Request) -> Loaded:
    """The classifier of that name, with its best published weights or a checkpoint's.

    ``args`` go to ``torchvision.models.get_model``; ``weights=IMAGENET1K_V1`` chooses others, and
    ``weights=None`` without a checkpoint leaves them random.
    """
    models, where, args = need("torchvision.models", request.where), request.where, request.args
    names = models.list_models(module=models)
    if request.name not in names:
        raise unknown("torchvision model", request.name, names)
    published = models.get_model_weights(request.name)
    chosen = args.pop("weights", "DEFAULT")
    if chosen not in (None, "DEFAULT", *published.__members__):
        raise unknown(f"{where}: weights", str(chosen), list(published.__members__))
    weights: Any = published[chosen or "DEFAULT"]
    images, labels = weights.transforms(), weights.meta.get("categories")
    if request.num_classes is not None:
        args["num_classes"] = request.num_classes
    origin, state = "random" if chosen is None else str(weights), None
    if request.checkpoint is not None:
        origin = "checkpoint"
    elif chosen is not None:
        request.require_classes(len(labels))
        state = _published(where, weights.url, download=request.download)
        args.setdefault("num_classes", len(labels))
    if request.name in ("inception_v3", "googlenet"):
        args.setdefault("init_weights", chosen is None)
        args.setdefault("transform_input", False)  # the normalisation that we put in front
    model = guarded(where, lambda: models.get_model(request.name, weights=None, **args))
    if state is not None:
        guarded(where, lambda: model.load_state_dict(state))
    classes = args.get("num_classes", len(labels))
    side = images.crop_size[0]
    return Loaded(
        model,
        images.mean,
        images.std,
        Preprocess(images.resize_size[0], (side, side), images.interpolation.value),
        labels if classes == len(labels) and request.checkpoint is None else None,
        classes,
        {"torchvision": need("torchvision", where).__version__, "weights": origin},
    )


def _published(where: str, url: str, *, download: bool) -> Any:
    """The published weights, fetched to where torch keeps them if they may be."""
    hub = need("torch.hub", where)
    path = os.path.join(hub.get_dir(), "checkpoints", os.path.basename(urlsplit(url).path))
    if not (download or os.path.isfile(path)):
        raise ValueError(
            f"{where}: its weights are not on disk; looked for {shown(path)}. Fetch {url} to "
            "there, let this command do so with --download, or give a checkpoint"
        )
    options = {"map_location": "cpu", "progress": False, "check_hash": True, "weights_only": True}
    return guarded(where, lambda: hub.load_state_dict_from_url(url, **options))
