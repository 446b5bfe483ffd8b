"""Models of timm, torchvision, Hugging Face and ONNX: the scores of the library's own
way.
"""

import re
import urllib.error

import numpy as np
import pytest
from cli_models import arguments, package

from rsbounds.cli import main
from rsbounds.loading import _hf, load_model

pytestmark = pytest.mark.slow  # needs the heavy packages


@pytest.fixture(scope="module")
def picture():
    image = package("PIL.Image")
    pixels = np.random.default_rng(1).integers(0, 256, (12, 16, 3), dtype=np.uint8)
    return image.fromarray(pixels).resize((401, 302), image.Resampling.BICUBIC)


@pytest.fixture
def offline(tmp_path, monkeypatch, no_network):
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "hub"))
    constants = package("huggingface_hub.constants")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hf"))
    return tmp_path


def scores(loaded, x):
    import torch

    with torch.inference_mode():
        return loaded.model(torch.from_numpy(x)).numpy()


@pytest.mark.parametrize(
    ("name", "squash"), [("test_resnet", False), ("test_vit", True)]
)
def test_timm_sees_what_its_own_loader_shows_it(tmp_path, picture, name, squash):
    torch, timm = package("torch"), package("timm")
    safetensors = package("safetensors.torch")
    torch.manual_seed(0)
    net = timm.create_model(name, num_classes=5).eval()
    file = tmp_path / "w.safetensors"
    safetensors.save_file(net.state_dict(), file)
    loaded = load_model(f"timm:{name}", checkpoint=file, args={"num_classes": 5})
    config = timm.data.resolve_data_config(model=net)
    theirs = timm.data.create_transform(**config)(picture)
    x = loaded.preprocess(picture)[None] / np.float32(255)
    assert x.shape[1:] == tuple(config["input_size"])
    with torch.inference_mode():
        want = net(theirs[None]).numpy()
    # the same pixels and the same arithmetic but for the order of two roundings
    np.testing.assert_allclose(scores(loaded, x), want, atol=1e-5)
    assert loaded.describe["preprocessing"]["mean"] == list(config["mean"])
    assert loaded.describe["weights"] == "checkpoint"


REFUSED = [
    (
        "timm",
        "timm:resnet81",
        r"model 'resnet81' is unknown; did you mean .*resnet18",
    ),
    ("timm", "timm:resnet18", r"resnet18.* not on disk \(looked in .*download=True"),
    (
        "torchvision.models",
        "torchvision:resnet19",
        r"'resnet19' is unknown; did you mean resnet1",
    ),
    (
        "torchvision.models",
        "torchvision:resnet18",
        r"looked for .*hub.*resnet18-f37072fd.pth",
    ),
    ("transformers", "hf:no/such", r"not on disk \(looked in .*hf download no/such"),
    ("transformers", "hf:.", r"holds no config\.json"),
]


@pytest.mark.parametrize(("module", "spec", "said"), REFUSED)
def test_models_that_are_not_there_are_refused(
    offline, monkeypatch, module, spec, said
):
    package(module)
    monkeypatch.chdir(offline)
    with pytest.raises(ValueError, match=said):
        load_model(spec)


def test_arguments_that_are_none_are_refused(offline):
    for module, args, said in (
        (
            "timm:test_resnet",
            {"pretrained": False, "colour": 1},
            "unexpected keyword.*'colour'",
        ),
        (
            "torchvision:resnet18",
            {"weights": "IMAGENET1K_V7"},
            "'IMAGENET1K_V7' is unknown; did",
        ),
    ):
        package(module.partition(":")[0])
        with pytest.raises(ValueError, match=said):
            load_model(module, args=args)


def test_timm_finds_weights_in_the_cache(offline, monkeypatch):
    torch, timm = package("torch"), package("timm")
    safetensors = package("safetensors.torch")
    torch.manual_seed(3)
    net = timm.create_model("test_resnet").eval()
    folder = offline / "hf" / "models--timm--test_resnet.r160_in1k"
    (folder / "refs").mkdir(parents=True)
    (folder / "refs" / "main").write_text("0" * 40)
    (folder / "snapshots" / ("0" * 40)).mkdir(parents=True)
    safetensors.save_file(
        net.state_dict(), folder / "snapshots" / ("0" * 40) / "model.safetensors"
    )
    loaded = load_model("timm:test_resnet")
    x = np.random.default_rng(0).random((1, 3, 160, 160), dtype=np.float32)
    with torch.inference_mode():
        want = net(torch.from_numpy((x - np.float32(0.5)) / np.float32(0.5))).numpy()
    np.testing.assert_allclose(scores(loaded, x), want, atol=1e-5)
    assert loaded.labels[0] == "n01440764"
    with pytest.raises(ValueError, match=r"num_classes.*weights"):
        load_model("timm:test_resnet", args={"num_classes": 7})


def test_torchvision_sees_what_its_own_transform_shows_it(tmp_path, picture):
    torch, models = package("torch"), package("torchvision.models")
    torch.manual_seed(0)
    net = models.get_model("squeezenet1_1", num_classes=6).eval()
    torch.save(net.state_dict(), tmp_path / "w.pt")
    loaded = load_model(
        "torchvision:squeezenet1_1",
        checkpoint=tmp_path / "w.pt",
        args={"num_classes": 6},
    )
    theirs = models.get_model_weights("squeezenet1_1").DEFAULT.transforms()(picture)
    x = loaded.preprocess(picture)[None] / np.float32(255)
    with torch.inference_mode():
        want = net(theirs[None]).numpy()
    np.testing.assert_allclose(scores(loaded, x), want, atol=1e-5)
    assert loaded.labels is None


def test_torchvision_names_its_classes():
    package("torchvision.models")
    loaded = load_model("torchvision:squeezenet1_1", args={"weights": None})
    assert loaded.labels[0] == "tench"
    assert loaded.describe["weights"] == "random"


@pytest.fixture(scope="module")
def vit(tmp_path_factory):
    torch, transformers = package("torch"), package("transformers")
    torch.manual_seed(0)
    config = transformers.ViTConfig(
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        image_size=32,
        patch_size=8,
        num_labels=3,
        id2label={0: "cat", 1: "dog", 2: "fox"},
    )
    folder = tmp_path_factory.mktemp("vit")
    model = transformers.ViTForImageClassification(config).eval()
    model.save_pretrained(folder)
    processor = transformers.ViTImageProcessor(size={"height": 32, "width": 32})
    processor.save_pretrained(folder)
    return folder, model, processor


def test_hf_sees_what_its_processor_shows_it(vit, picture):
    torch = package("torch")
    folder, model, processor = vit
    loaded = load_model(f"hf:{folder}")
    x = loaded.preprocess(picture)[None] / np.float32(255)
    theirs = processor(picture, return_tensors="pt")["pixel_values"]
    with torch.inference_mode():
        want = model(theirs).logits.numpy()
        exact = model(
            torch.from_numpy((x - np.float32(0.5)) / np.float32(0.5))
        ).logits.numpy()
    np.testing.assert_allclose(scores(loaded, x), exact, atol=1e-6)
    np.testing.assert_allclose(
        scores(loaded, x), want, atol=0.01
    )  # torch and Pillow resize
    assert loaded.labels == ("cat", "dog", "fox")
    assert loaded.describe["preprocessing"]["resize"] == [32, 32]


PROCESSORS = {
    "ConvNextImageProcessor": ({"size": {"shortest_edge": 32}}, None),
    "CLIPImageProcessor": ({"size": {"shortest_edge": 40}, "crop_size": 32}, None),
    "MobileViTImageProcessor": (
        {"size": {"shortest_edge": 40}, "crop_size": 32},
        "does more",
    ),
    "EfficientNetImageProcessor": ({"size": {"height": 32, "width": 32}}, "does more"),
}


@pytest.mark.parametrize("name", PROCESSORS)
def test_a_processor_is_taken_apart_or_refused(vit, picture, tmp_path, name):
    import shutil

    transformers = package("transformers")
    settings, refused = PROCESSORS[name]
    if not hasattr(transformers, name):
        pytest.skip("another version of transformers")
    shutil.copytree(vit[0], tmp_path / "m")
    theirs = getattr(transformers, name)(**settings)
    theirs.save_pretrained(tmp_path / "m")
    if refused:
        with pytest.raises(ValueError, match=refused):
            load_model(f"hf:{tmp_path / 'm'}")
        return
    loaded = load_model(f"hf:{tmp_path / 'm'}")
    x = loaded.preprocess(picture) / np.float32(255)
    norm = loaded.describe["preprocessing"]
    mean, std = (np.reshape(norm[k], (-1, 1, 1)) for k in ("mean", "std"))
    want = theirs(picture, return_tensors="pt")["pixel_values"][0].numpy()
    assert np.abs((x - mean) / std - want).mean() < 0.01


def test_hf_runs_no_code_unasked(vit, tmp_path):
    import json
    import shutil

    package("transformers")
    shutil.copytree(vit[0], tmp_path / "m")
    config = json.loads((tmp_path / "m" / "config.json").read_text())
    config["auto_map"] = {"AutoModelForImageClassification": "evil.Evil"}
    (tmp_path / "m" / "config.json").write_text(json.dumps(config))
    (tmp_path / "m" / "evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    with pytest.raises(ValueError, match="runs code of its own"):
        load_model(f"hf:{tmp_path / 'm'}")
    assert not (tmp_path / "ran").exists()


def onnx_file(path, batch):
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    graph = helper.make_graph(
        [
            helper.make_node("Flatten", ["x"], ["f"]),
            helper.make_node("MatMul", ["f", "w"], ["y"]),
        ],
        "linear",
        [helper.make_tensor_value_info("x", kind, [batch, 1, 2, 2])],
        [helper.make_tensor_value_info("y", kind, [batch, 3])],
        [helper.make_tensor("w", kind, [4, 3], np.arange(12.0))],
    )
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9
    )
    onnx.save(model, path)


@pytest.mark.parametrize("batch", ["n", 4])
def test_onnx_runs_batches_of_any_length(tmp_path, batch):
    onnx_file(tmp_path / "m.onnx", batch)
    loaded = load_model(f"onnx:{tmp_path / 'm.onnx'}", args={"mean": 0.5, "threads": 1})
    x = np.random.default_rng(0).random((6, 1, 2, 2), dtype=np.float32)
    want = (x.reshape(6, 4) - 0.5) @ np.arange(12.0).reshape(4, 3)
    np.testing.assert_allclose(
        loaded.model(x), want, atol=1e-5
    )  # sums of four in float32
    assert re.fullmatch("[0-9a-f]{64}", loaded.describe["source"])


def test_onnx_refusals(tmp_path):
    pytest.importorskip("onnxruntime")
    (tmp_path / "m.onnx").write_bytes(b"garbage")
    with pytest.raises(ValueError, match=r"m\.onnx failed"):
        load_model(f"onnx:{tmp_path / 'm.onnx'}")
    with pytest.raises(ValueError, match="takes no checkpoint"):
        load_model(f"onnx:{tmp_path / 'm.onnx'}", checkpoint="w.pt")
    with pytest.raises(ValueError, match=r"providers.*threads"):
        load_model(f"onnx:{tmp_path / 'm.onnx'}", args={"depth": 1})
    with pytest.raises(FileNotFoundError):
        load_model("onnx:nope.onnx")


def test_timm_on_a_folder(tmp_path, monkeypatch, capsys):
    image, torch, timm = package("PIL.Image"), package("torch"), package("timm")
    save_file = package("safetensors.torch").save_file
    monkeypatch.chdir(tmp_path)
    for i in range(3):
        pixels = np.random.default_rng(i).integers(
            0, 256, (180, 200, 3), dtype=np.uint8
        )
        (tmp_path / "d" / str(i)).mkdir(parents=True)
        image.fromarray(pixels).save(tmp_path / "d" / str(i) / "a.png")
    torch.manual_seed(0)
    save_file(
        timm.create_model("test_resnet", num_classes=3).state_dict(), "w.safetensors"
    )
    known = {
        "model": "timm:test_resnet",
        "checkpoint": "w.safetensors",
        "sound_noise": "",
    }
    known |= {"model_args": "num_classes=3", "data": "imagefolder:d", "n0": 8, "n": 32}
    assert main(arguments(**known)) == 0
    assert main(["verify", "out.tsv"]) == 0
    assert main(arguments(**known)) == 0  # goes on where it was: nothing to do
    assert "3 rows, 0 of them new" in capsys.readouterr().out


def test_without_a_network_a_download_is_told_at_once(tmp_path, monkeypatch):
    """It was tried six times, for 46 s, and then `--download` was advised."""
    hub = pytest.importorskip("huggingface_hub")
    asked = []

    def fetch(name, file, *, local_files_only):
        asked.append(local_files_only)
        raise OSError("not here")

    def unreachable(*_, **__):
        raise urllib.error.URLError(OSError("Name or service not known"))

    monkeypatch.setattr(hub, "hf_hub_download", fetch)
    monkeypatch.setattr("urllib.request.urlopen", unreachable)
    with pytest.raises(ValueError, match="cannot be reached from here") as caught:
        _hf.located("hf:a/b", "a/b", "config.json", download=True)
    assert asked == [True]  # the cache alone
    assert "download=True" not in str(caught.value)
    assert not _hf.reachable("hf:a/b", download=True)
