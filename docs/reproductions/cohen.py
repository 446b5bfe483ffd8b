"""The certificates that Cohen, Rosenfeld and Kolter published: a clone of
github.com/locuslab/smoothing, commit 78a4d94.
"""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rsbounds import results

LEVELS = {
    "ImageNet": ("0.25", "0.50", "1.00"),
    "CIFAR-10": ("0.12", "0.25", "0.50", "1.00"),
}
_NETS = {"ImageNet": "imagenet/resnet50", "CIFAR-10": "cifar10/resnet110"}


class Published(NamedTuple):
    radii: Any  # -1 where the class is wrong or none
    abstains: Any

    def accuracy(self, radius: float) -> float:
        """The share that is right and certified at this radius or beyond."""
        return float((self.radii >= radius).mean())


def published(folder: Path, data: str, sigma: str) -> Published:
    """Certified with the level of the training."""
    path = folder / "data/certify" / _NETS[data]
    rows = results.read(path / f"noise_{sigma}/test/sigma_{sigma}").rows
    radii = np.array([row.radius if row.correct else -1.0 for row in rows])
    return Published(radii, np.array([row.predict < 0 for row in rows]))
