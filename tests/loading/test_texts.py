"""Texts to certificates, by the tokenizer of a classifier of transformers."""

import re

import numpy as np
import pytest
from cli_models import package

from rsbounds import certify_dataset, results, schemes
from rsbounds.cli import main
from rsbounds.loading import load_model, open_data
from rsbounds.sampling import on_strings

pytestmark = pytest.mark.slow  # needs the heavy packages

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS += ["the", "film", "is", "good", "bad", "very"]
TEXTS = """text,label
the film is good good good very good,pos
the film is bad bad bad very bad,neg
"""
RUN = ["--data", "r.csv", "--target", "label", "--n", "200", "--n0", "20"]


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    """The directory of a classifier and its tokenizer of eleven words."""
    torch, transformers = package("torch"), package("transformers")
    parts = package("tokenizers")
    folder = tmp_path_factory.mktemp("bert")
    numbers = {word: number for number, word in enumerate(WORDS)}
    words = parts.Tokenizer(parts.models.WordLevel(numbers, unk_token="[UNK]"))
    words.pre_tokenizer = parts.pre_tokenizers.Whitespace()
    words.post_processor = parts.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    names = ("pad", "unk", "cls", "sep", "mask")
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=words,
        model_max_length=16,
        **{f"{name}_token": f"[{name.upper()}]" for name in names},
    ).save_pretrained(folder)
    torch.manual_seed(0)
    shape = {
        "hidden_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 16,
        "max_position_embeddings": 16,
    }
    config = transformers.BertConfig(
        vocab_size=len(WORDS),
        num_labels=2,
        id2label={0: "neg", 1: "pos"},
        initializer_range=1.0,
        **shape,
    )
    net = transformers.BertForSequenceClassification(config)
    net.eval().save_pretrained(folder)
    return folder


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "r.csv").write_text(TEXTS)
    return tmp_path


def test_a_text_is_its_tokens_without_those_of_the_model(bert, here):
    data = open_data("r.csv", tokenizer=bert, target="label", labels=["neg", "pos"])
    assert data.input(1).tolist() == [5, 6, 7, 9, 9, 9, 10, 9]
    assert data.labels.tolist() == [1, 0]
    tokenizer = data.tokenizer
    assert (tokenizer.mask, tokenizer.unknown) == (4, 1)
    assert (tokenizer.prefix, tokenizer.suffix) == ((2,), (3,))
    assert sorted(tokenizer.reserved.values()) == ["[CLS]", "[MASK]", "[PAD]", "[SEP]"]
    same = open_data((["the film"], [0]), tokenizer=tokenizer)
    assert same.input(0).tolist() == [5, 6]


def test_a_model_has_its_own_tokens_around_a_text(bert, here):
    torch = package("torch")
    loaded = load_model(f"hf:{bert}")
    ids = torch.tensor([[5, 6, 7]])
    with torch.inference_mode():
        around = loaded.model.net.net(torch.tensor([[2, 5, 6, 7, 3]])).logits
        torch.testing.assert_close(loaded.model(ids), around)


@pytest.mark.parametrize(
    "noise", [["mask", "--keep-probability", ".2"], ["deletion", "--delete", ".8"]]
)
def test_one_command_from_texts_to_a_certificate(bert, here, noise):
    assert main(["certify", "--model", f"hf:{bert}", *RUN, "--method", *noise,
                 "--out", "o.tsv"]) == 0  # fmt: skip
    file = results.read("o.tsv")
    assert len(file.rows) == 2
    if noise[0] == "mask":
        assert file.manifest.parameters["hidden"] == 4
    given = ["verify", "o.tsv", "--model", f"hf:{bert}", *RUN[:4], "--rerun", "2"]
    assert main(given) == 0


def test_a_model_of_strings_takes_a_tokenizer(bert, here):
    def good(strings):
        return np.array([[s.count("bad"), s.count("good")] for s in strings])

    data = open_data("r.csv", tokenizer=bert, target="label", labels=["neg", "pos"])
    model = on_strings(good, data.tokenizer.decode)
    scheme = schemes.mask(keep_probability=0.2, hidden=data.tokenizer.mask)
    run = certify_dataset(model, data, scheme, n=1000)
    assert [row.predict for row in run.rows] == [1, 0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("the film [SEP] good", r"text 0 has '\[SEP\]': take it out"),
        ("", "texts of 1 to 14 tokens; text 0 has 0"),
        ("very " * 15, "texts of 1 to 14 tokens; text 0 has 15: cut it"),
        (7, "must be texts; text 0 is int"),
    ],
)
def test_a_text_that_cannot_be_certified_is_named(bert, text, said):
    with pytest.raises(ValueError, match=said):
        open_data(([text], [0]), tokenizer=bert)


def test_words_that_the_tokenizer_does_not_know_are_named(bert):
    with pytest.warns(
        RuntimeWarning, match="1 tokens in 1 of 2 texts.*'awful' in text 1"
    ):
        open_data((["the film", "the awful film"], [0, 1]), tokenizer=bert)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            [
                "--method",
                "categorical",
                "--keep",
                ".9",
                "--values",
                "11",
                "--n",
                "2000",
            ],
            r"--method must not show tokens that no text has, as '\[\w+\]'",
        ),
        (["--method", "deletion", "--delete", ".5", "--scale", "2"], "not for texts"),
        (["--method", "deletion", "--delete", ".5", "--target", "no"], "target 'no'"),
    ],
)
def test_what_has_no_meaning_for_texts_is_one_line(bert, here, words, said, capsys):
    words = ["certify", "--model", f"hf:{bert}", *RUN, *words, "--out", "o.tsv"]
    assert main(words) == 2
    line = capsys.readouterr().err.strip().splitlines()[-1]
    assert re.search(said, line)


def test_a_number_that_is_no_token_is_named(bert):
    torch = package("torch")
    loaded = load_model(f"hf:{bert}")
    with pytest.raises(ValueError, match="tokens of the model, 0 to 10; got 50000"):
        loaded.model(torch.tensor([[5, 50000]]))


def test_blocks_of_a_text_may_not_show_tokens_that_no_text_has(bert):
    """Each part answers for what its copies show."""
    data = open_data((["the film", "good film"], [0, 1]), tokenizer=bert)
    reserved = min(data.reserved)
    names = [{"keep": 0.75, "values": reserved + 2}, {"keep": 0.75, "values": 2}]
    for first in (names, names[::-1]):
        noise = schemes.blocks(
            *(schemes.categorical(**part) for part in first), splits=[1]
        )
        with pytest.raises(ValueError, match="must not show tokens that no text has"):
            certify_dataset(lambda batch: np.ones((len(batch), 2)), data, noise, n=10)
    low = schemes.categorical(0.75, 2)
    assert schemes.blocks(low, low, splits=[1]).alphabet == 2
