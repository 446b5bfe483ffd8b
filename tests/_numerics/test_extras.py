"""What an import says of a package that is missing or broken."""

import importlib

import pytest

from rsbounds._numerics.extras import explained, need


def test_a_torchvision_of_another_torch_is_named(monkeypatch):
    def broken(name):
        raise RuntimeError("operator torchvision::nms does not exist")

    monkeypatch.setattr(importlib, "import_module", broken)
    with pytest.raises(ImportError, match=r"nms.*built for another torch"):
        need("torchvision.models", "torchvision:resnet18")


def test_a_folder_of_sources_without_the_extension_says_so():
    """Python started in a clone found it first, and said "pip install rsbounds_ext"."""
    name = "rsbounds_ext.kernels"
    text = explained("rsbounds.gaussian", ModuleNotFoundError(name, name=name))
    assert "pip install rsbounds_ext" not in text
    assert "another folder" in text
