"""Models by name: each backend against its library, and what it refuses."""

import json
import re
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from cli_models import package

from rsbounds.loading import load_model
from rsbounds.loading.internal import parse_arguments

OWN = """
import numpy as np

class Out:
    def __init__(self, logits):
        self.logits = logits

def plain(slope=1.0):
    return lambda batch: slope * batch.reshape(len(batch), -1)

def with_logits():
    return lambda batch: Out(batch.reshape(len(batch), -1))

def mapping():
    return lambda batch: {"logits": batch.reshape(len(batch), -1)}

def strings():
    return lambda batch: np.full((len(batch), 2), "cat")

def tensor():
    import torch
    layer = torch.nn.Linear(4, 2)
    return lambda batch: layer(torch.from_numpy(batch.reshape(len(batch), -1)))

def net():
    import torch
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(4, 2))

X = 5

def classifier(batch):
    return batch

def none():
    pass

def leaves():
    raise SystemExit("no weights here")
"""
X = np.linspace(0, 1, 12, dtype=np.float32).reshape(3, 1, 2, 2)


@pytest.fixture
def own(tmp_path, monkeypatch):
    (tmp_path / "own.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "own", raising=False)
    return tmp_path


def torch_and(*modules):
    for module in modules:
        package(module)
    return package("torch")


@pytest.mark.parametrize("spec", ["own:plain", "own.py:plain", "./own.py:plain"])
def test_own_code_by_module_and_by_file(own, spec):
    loaded = load_model(spec, args={"slope": 2.0})
    np.testing.assert_array_equal(loaded.model(X), 2 * X.reshape(3, 4))
    assert loaded.describe["args"] == {"slope": 2.0}
    assert re.fullmatch("[0-9a-f]{64}", loaded.describe["source"])
    json.dumps(loaded.describe)


def test_a_file_finds_its_neighbours_from_anywhere(own, tmp_path, monkeypatch):
    (own / "sub").mkdir()
    (own / "sub" / "beside.py").write_text("SLOPE = 3")
    (own / "sub" / "main.py").write_text(
        "from beside import SLOPE\n"
        "def f(): return lambda b: SLOPE * b.reshape(len(b), -1)\n"
    )
    loaded = load_model("sub/main.py:f")
    np.testing.assert_array_equal(loaded.model(X), 3 * X.reshape(3, 4))
    sys.modules.pop("beside")


@pytest.mark.parametrize("name", ["with_logits", "mapping"])
def test_logits_are_understood(own, name):
    np.testing.assert_array_equal(load_model(f"own:{name}").model(X), X.reshape(3, 4))


def test_logits_of_torch_modules_are_understood(own, monkeypatch):
    torch = torch_and()

    class Net(torch.nn.Module):
        def forward(self, x):
            return SimpleNamespace(logits=x.flatten(1))

    monkeypatch.setitem(sys.modules, "made", SimpleNamespace(net=Net))
    loaded = load_model("made:net")
    assert loaded.model(torch.from_numpy(X)).shape == (3, 4)


def test_the_hash_of_the_parameters_is_that_of_the_network(own):
    torch_and()
    one, two = load_model("own:net"), load_model("own:net", input_range=(0, 255))
    assert one.describe["parameters"] == two.describe["parameters"]
    assert one.describe["preprocessing"] != two.describe["preprocessing"]


def test_input_range_moves_the_data_into_the_models_range(own):
    got = load_model("own:plain", input_range=(-1, 3)).model(4 * X - 1)
    np.testing.assert_allclose(
        got, X.reshape(3, 4), atol=1e-6
    )  # a few roundings of float32


def test_leaving_is_an_error_with_its_reason(own):
    with pytest.raises(ValueError, match=r"own:leaves.*SystemExit"):
        load_model("own:leaves")


REFUSED = {
    "plain": "model must be timm:NAME",
    "own:nope": "own:nope: own has no 'nope'",
    "tim:resnet18": "did you mean timm:?",
    "nope.py:f": "No such file",
    "own:": "MODULE:CALLABLE",
    "own:classifier": "is called with no argument; missing a "
    "required argument: 'batch' (to give it as it is, write def load(): return "
    "classifier)",
    "own:X": "must name a function",
    "own:none": "must return a torch module",
}


@pytest.mark.parametrize("spec", REFUSED)
def test_refusals(own, spec):
    with pytest.raises(ValueError, match=re.escape(REFUSED[spec])):
        load_model(spec)


def test_a_number_of_classes_is_at_least_two():
    with pytest.raises(ValueError, match=r"num_classes.*>= 2"):
        load_model("torchvision:squeezenet1_1", args={"num_classes": 0})


@pytest.mark.parametrize(
    "bad", [(1, 1), (1, 0), (0, np.nan), (0, np.inf), 5, (1, 2, 3)]
)
def test_empty_ranges_are_refused(own, bad):
    with pytest.raises(ValueError, match="input_range must be"):
        load_model("own:plain", input_range=bad)


def test_arguments():
    assert parse_arguments("") == {}
    assert parse_arguments(
        "a=1, b = x,c=[1,(2,3)],d='u,v',e=-1e-3,f=a/b.c,g=lite-0,h=None"
    ) == {
        "a": 1,
        "b": "x",
        "c": [1, (2, 3)],
        "d": "u,v",
        "e": -0.001,
        "f": "a/b.c",
        "g": "lite-0",
        "h": None,
    }


@pytest.mark.parametrize(
    "bad",
    [
        "a",
        "a=1,a=2",
        ",",
        "a=(",
        "a=1)+f(b=1",
        "a=\0",
        "a=" + "(" * 999,
    ],
)
def test_arguments_refused(bad):
    with pytest.raises(ValueError, match="key=value"):
        parse_arguments(bad)


def test_checkpoints_of_both_kinds(own):
    torch = torch_and("safetensors.torch")
    from safetensors.torch import save_file

    weights = {"1.weight": torch.full((2, 4), 0.5), "1.bias": torch.tensor([0.0, 1.0])}
    save_file(weights, "w.safetensors")
    torch.save({"state_dict": {f"module.{k}": v for k, v in weights.items()}}, "w.pt")
    for file in ("w.safetensors", "w.pt"):
        loaded = load_model("own:net", checkpoint=file)
        got = loaded.model(torch.from_numpy(X)).detach().numpy()
        np.testing.assert_allclose(
            got, 0.5 * X.reshape(3, 4).sum(1)[:, None] + [0, 1], rtol=1e-6
        )
        assert re.fullmatch("[0-9a-f]{64}", loaded.describe["checkpoint"])


def test_a_checkpoint_of_another_model_keeps_the_whole_message(own):
    torch = torch_and()
    torch.save({"1.weight": torch.zeros(2, 5), "other": torch.zeros(1)}, "w.pt")
    with pytest.raises(ValueError, match=r"checkpoint w\.pt failed") as caught:
        load_model("own:net", checkpoint="w.pt")
    for part in ("1.bias", "other", "size mismatch for 1.weight"):
        assert part in str(caught.value)


class Boom:
    def __reduce__(self):
        return open, ("ran", "w")


@pytest.mark.parametrize("wrap", [lambda o: o, lambda o: {"state_dict": o, "opt": o}])
def test_a_checkpoint_runs_nothing(own, wrap):
    torch = torch_and()
    torch.save(wrap(Boom()), "w.pt")
    with pytest.raises(ValueError, match=r"tensors alone.*model\.state_dict"):
        load_model("own:net", checkpoint="w.pt")
    assert not (own / "ran").exists()


BAD_FILES = {
    "w.safetensors": "must be a safetensors file",
    "w.pt": "must be a file of torch.save",
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_garbage_for_a_checkpoint(own, name):
    torch_and("safetensors.torch")
    (own / name).write_bytes(b"\xff" * 100)
    with pytest.raises(ValueError, match=BAD_FILES[name]):
        load_model("own:net", checkpoint=name)


def test_a_checkpoint_of_numbers_and_of_nothing(own):
    torch = torch_and()
    torch.save([1, 2], "w.pt")
    with pytest.raises(ValueError, match=r"tensors.*list"):
        load_model("own:net", checkpoint="w.pt")
    with pytest.raises(FileNotFoundError):
        load_model("own:net", checkpoint="nope.pt")
    with pytest.raises(ValueError, match="needs a torch module"):
        load_model("own:plain", checkpoint="w.pt")
