"""Text classifiers of transformers, built at random: tokens in, scores out."""

import numpy as np
import pytest
from cli_models import package

from rsbounds import schemes
from rsbounds.loading import load_model, open_data
from rsbounds.sampling import ArraySampler, Phase
from rsbounds.sampling.internal import stream
from rsbounds.torch import TorchSampler

pytestmark = pytest.mark.slow  # needs the heavy packages


def saved(folder, name, **config):
    torch, transformers = package("torch"), package("transformers")
    torch.manual_seed(0)
    configuration = getattr(transformers, f"{name}Config")(
        vocab_size=40, num_labels=3, id2label={0: "de", 1: "en", 2: "fr"}, **config
    )
    net = getattr(transformers, f"{name}ForSequenceClassification")(configuration)
    net.eval().save_pretrained(folder)
    return net


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bert")
    net = saved(
        folder,
        "Bert",
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=32,
        initializer_range=1.0,
    )
    return folder, net


def test_a_text_classifier_is_called_with_tokens_and_masks(bert):
    torch = package("torch")
    folder, net = bert
    loaded = load_model(f"hf:{folder}")
    assert loaded.labels == ("de", "en", "fr")
    assert loaded.describe["architecture"] == "BertForSequenceClassification"
    ids = torch.tensor([[5, 9, 7, 3], [5, 9, 0, 0]])  # 0 is its padding
    with torch.inference_mode():
        alone = torch.cat([net(ids[:1]).logits, net(ids[1:, :2]).logits])
        scores = loaded.model(ids)
        masked = loaded.model(ids, attention_mask=(ids != 0).long())
        floats = loaded.model(ids.float())
    for other in (scores, masked, floats):
        torch.testing.assert_close(other, alone, atol=1e-5, rtol=1e-5)


def test_its_own_tokens_are_out_of_reach(bert):
    torch = package("torch")
    folder, net = bert
    args = {"prefix": (1,), "suffix": (2, 6)}
    loaded = load_model(f"hf:{folder}", args=args)
    ids = torch.tensor([[5, 9, 7], [5, 0, 0]])
    with torch.inference_mode():
        longer = torch.tensor([[1, 5, 9, 7, 2, 6]])
        shorter = torch.tensor([[1, 5, 2, 6]])
        alone = torch.cat([net(longer).logits, net(shorter).logits])
        torch.testing.assert_close(loaded.model(ids), alone, atol=1e-5, rtol=1e-5)
    assert loaded.describe["args"] == {"prefix": [1], "suffix": [2, 6]}


@pytest.mark.parametrize(
    "noise",
    [
        schemes.deletion(0.3),
        schemes.mask(keep_probability=0.6, hidden=39),
        schemes.categorical(0.6, 40),
    ],
    ids=lambda noise: noise.law,
)
def test_samples_are_those_of_single_sequences(bert, tmp_path, noise):
    torch = package("torch")
    folder, net = bert
    np.savez(tmp_path / "d.npz", values=np.arange(3, 15), offsets=[0, 5, 12], y=[0, 1])
    loaded = load_model(f"hf:{folder}")
    sampler = TorchSampler(loaded.model, noise=noise)

    def alone(batch):
        rows = [torch.as_tensor(np.asarray(row))[None] for row in batch]
        with torch.inference_mode():
            # what is left of nothing is one padding, which no mask shows
            empty = torch.zeros(1, 1, dtype=torch.long)
            return np.concatenate(
                [
                    net(row).logits.numpy()
                    if row.shape[1]
                    else net(empty, attention_mask=empty).logits.numpy()
                    for row in rows
                ]
            )

    with open_data(tmp_path / "d.npz", whole=True) as data:
        for i in range(2):
            x = data.input(i)
            drawn = stream(0, i, Phase.ESTIMATE)
            counts = np.asarray(sampler(x, noise.level, 2000, drawn))
            assert counts.sum() == 2000
            rng = np.random.default_rng(i)
            other = ArraySampler(alone, noise=noise)(x, noise.level, 500, rng)
            # two independent samples of one law: six standard deviations
            assert (abs(counts / 2000 - other / 500) < 6 * 0.5 / np.sqrt(400)).all()


def test_a_checkpoint_has_the_names_of_transformers(bert, tmp_path):
    torch = package("torch")
    safetensors = package("safetensors.torch")
    folder, net = bert
    state = {name: tensor + 1 for name, tensor in net.state_dict().items()}
    safetensors.save_file(state, tmp_path / "w.safetensors")
    loaded = load_model(f"hf:{folder}", checkpoint=tmp_path / "w.safetensors")
    bias = loaded.model.net.net.classifier.bias
    torch.testing.assert_close(bias, net.classifier.bias + 1)


def test_token_columns_of_a_folder(tmp_path):
    datasets = package("datasets")
    rows = {"input_ids": [[3, 1, 4], [1, 5]], "label": [0, 1]}
    datasets.Dataset.from_dict(rows).save_to_disk(tmp_path / "d")
    with open_data(f"hf:{tmp_path / 'd'}", whole=True) as data:
        assert [data.input(i).tolist() for i in range(2)] == rows["input_ids"]
        assert data.labels.tolist() == [0, 1]
    with (
        open_data(f"hf:{tmp_path / 'd'}") as data,
        pytest.raises(ValueError, match="scale"),
    ):
        data.item(0)
