"""scikit-learn's estimators in files of skops, which run no code: ``sklearn:FILE``."""

import hashlib
from typing import Any

from rsbounds._numerics.text import shown
from rsbounds.frameworks import as_function, labels_of
from rsbounds.loading.callables import guarded
from rsbounds.loading.hashes import opened
from rsbounds.loading.models import Loaded, Request
from rsbounds.loading.packages import need


def load(request: Request) -> Loaded:
    """The estimator of that file; types that skops does not trust are refused."""
    where = request.where
    if request.checkpoint is not None or request.args:
        raise ValueError(f"{where}: a file of skops holds all; it takes no checkpoint or arguments")
    with opened(request.name) as file:
        content = file.read()
    if not content.startswith(b"PK"):
        raise ValueError(
            f"{where} must be a file of skops, which runs no code when it is read: write it as "
            "skops.io.dump(estimator, FILE); pickle and joblib files are never read"
        )
    io: Any = need("skops.io", where)
    if foreign := guarded(where, lambda: io.get_untrusted_types(data=content)):
        raise ValueError(
            f"{where} holds types that skops does not trust: {shown(', '.join(sorted(foreign)))}; "
            "load it in code of your own, MODULE:CALLABLE, if you trust them"
        )
    estimator = guarded(where, lambda: io.loads(content))
    model: Any = as_function(estimator)
    labels = labels_of(model)
    describe = {
        "source": (digest := hashlib.sha256(content).hexdigest()),
        "parameters": digest,
        "scikit-learn": need("sklearn", where).__version__,
        **({"labels": labels} if labels else {}),
    }
    classes = len(model.labels) if hasattr(model, "labels") else None
    return Loaded(model, labels=labels, classes=classes, describe=describe)
