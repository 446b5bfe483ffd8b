"""What completion and help() show of the public modules."""

import importlib
import inspect
import pkgutil
import pydoc
import subprocess
import sys
import types

import pytest

import rsbounds
from rsbounds.noises import Bits

#: They have the form of ``Bits``, which documents it, and are no subclasses.
STREAMS = ("ArrayBits", "TorchBits")


#: The public modules.
NAMES = sorted({*dir(rsbounds)} - {"__version__", *rsbounds._CALLED})


@pytest.mark.parametrize("name", NAMES)
def test_completion_shows_what_is_public(name):
    module = getattr(rsbounds, name, None)
    if module is None:
        pytest.skip("needs packages that are not here")
    assert dir(module) == sorted(module.__all__)


def overriding_modules():
    """The modules in which ruff lets a method go without a docstring of its own."""
    for room in ("noises", "schemes", "sampling", "torch.networks"):
        room = f"rsbounds.{room}"
        folder = importlib.import_module(room)
        for found in pkgutil.walk_packages(folder.__path__, f"{room}."):
            if "._" not in found.name:
                yield importlib.import_module(found.name)


def test_a_method_without_a_docstring_has_that_of_its_base():
    pytest.importorskip("torch")
    methods = property | classmethod | types.FunctionType
    bare = set()
    for module in overriding_modules():
        for _, kind in inspect.getmembers(module, inspect.isclass):
            if kind.__module__ != module.__name__ or kind.__name__.startswith("_"):
                continue
            port = Bits if kind.__name__ in STREAMS else kind
            for name, value in vars(kind).items():
                if name.startswith("_") or not isinstance(value, methods):
                    continue
                own = inspect.getdoc(getattr(kind, name))
                if not own and not inspect.getdoc(getattr(port, name)):
                    bare.add(f"{kind.__qualname__}.{name}")
    assert bare == set()


def test_a_missing_package_is_an_attribute_error_that_names_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    rooms = "rsbounds.torch", "rsbounds.sampling.torch_"
    for name in [word for word in sys.modules if word.startswith(rooms)]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr(rsbounds, "torch", raising=False)
    with pytest.raises(AttributeError, match=r"torch.*pip"):
        rsbounds.torch  # noqa: B018


STAR = """
import sys

EXTRAS = {"art", "jax", "mpmath", "sklearn", "torch"}

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in EXTRAS:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
from rsbounds import *
print(certify_dataset.__name__, schemes.gaussian(0.5).name)
"""


@pytest.mark.slow
def test_a_star_brings_what_needs_no_extra():
    """It raised where PyTorch or mpmath was missing."""
    command = [sys.executable, "-c", STAR]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["certify_dataset", "gaussian"]


def test_all_members_of_the_package_can_be_listed():
    names = dict(inspect.getmembers(rsbounds))
    assert {"gaussian", "schemes", "__version__"} <= set(names)


def test_help_opens_with_a_signature_that_can_be_read():
    shown = pydoc.render_doc(rsbounds.gaussian.radius, renderer=pydoc.plaintext)
    # Python 3.13 gives each parameter a line
    signature = "".join(shown.split("\n\n")[1].partition("->")[0].split())
    assert signature.startswith("radius(p_a:'ArrayLike',sigma:'ArrayLike'")
    assert len(signature) < 200
