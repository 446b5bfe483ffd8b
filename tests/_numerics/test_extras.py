"""What an import says of a package that is missing or broken."""

import importlib

import pytest

from rsbounds._numerics.extras import need


def test_a_torchvision_of_another_torch_is_named(monkeypatch):
    def broken(name):
        raise RuntimeError("operator torchvision::nms does not exist")

    monkeypatch.setattr(importlib, "import_module", broken)
    with pytest.raises(ImportError, match=r"nms.*built for another torch"):
        need("torchvision.models", "torchvision:resnet18")
