"""Tables: columns by kind, units, categories, and one command from a CSV."""

import numpy as np
import pytest

from rsbounds import certify_dataset, results, schemes
from rsbounds._numerics.errors import ArgumentError
from rsbounds.cli import main
from rsbounds.loading import read_table
from rsbounds.loading.internal import TableData

TEXT = """age,job,income,ill
30,cook,1.5,no
50,smith,2.5,yes
40,cook,3.5,no
60,clerk,2.5,yes
"""

MODEL = (
    "import numpy as np\n"
    "def load():\n"
    "    return lambda b: np.stack([b[:, 0] < 4, b[:, 0] >= 4], 1).astype(float)\n"
)


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "table.csv"
    file.write_text(TEXT)
    return file


def test_columns_are_split_by_their_kind(path):
    table = read_table(path, "ill")
    assert table.numbers == ("age", "income")
    assert table.categories == ("job",)
    assert (table.splits, table.alphabets) == ([2], [3])
    assert table.classes == ("no", "yes")
    assert table.y.tolist() == [0, 1, 0, 1]
    ages = np.array([30.0, 50.0, 40.0, 60.0])
    np.testing.assert_allclose(table.units[0], ages.std())
    np.testing.assert_allclose(table.x[:, 0], ages / ages.std(), rtol=1e-7)
    assert table.x[:, 2].tolist() == [1, 2, 1, 0]


def test_columns_come_back_in_their_units(path):
    table = read_table(path, "ill", units={"age": 10})
    own = table.columns(table.x)
    np.testing.assert_allclose(own["age"], [30, 50, 40, 60])
    assert own["job"].tolist() == ["cook", "smith", "cook", "clerk"]


def test_a_frame_gives_what_its_file_does(path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_csv(path)
    mine, its = read_table(path, "ill"), read_table(frame, "ill")
    np.testing.assert_array_equal(mine.x, its.x)
    assert (mine.values, mine.classes) == (its.values, its.classes)
    frame["job"] = frame["job"].astype("category")
    assert read_table(frame, "ill").categories == ("job",)


def test_units_and_values_are_those_of_the_training_rows(path):
    train = read_table(path, "ill")
    path.write_text("age,job,income,ill\n35,clerk,2,no\n")
    test = read_table(path, "ill", like=train)
    np.testing.assert_allclose(test.x[0, 0], 35 / train.units[0], rtol=1e-7)
    assert test.x[0, 2] == 0
    path.write_text("age,job,income,ill\n35,nurse,2,no\n")
    with pytest.raises(ValueError, match="nurse"):
        read_table(path, "ill", like=train)


def test_numbers_may_be_categories_and_groups_have_one_size(path):
    table = read_table(path, "ill", categories=["income"])
    assert table.numbers == ("age",)
    assert table.categories == ("job", "income")
    assert (table.splits, table.alphabets) == ([1], [3])
    two = TEXT.replace("clerk", "smith")
    path.write_text(two)
    table = read_table(path, "ill", categories=["income"])
    assert table.categories == ("job", "income")
    assert (table.splits, table.alphabets) == ([1, 2], [2, 3])


def test_one_command_from_a_table_to_a_report(path, capsys):
    path.with_name("of_table.py").write_text(
        "import numpy as np\n"
        "def load():\n"
        "    return lambda b: np.stack([b[:, 0] < 4, b[:, 0] >= 4], 1).astype(float)\n"
    )
    blocks = "gaussian:sigma=.1;categorical:keep=.9,values=3"
    data = ["--data", "table.csv", "--target", "ill"]
    chosen = ["--method", "blocks", "--blocks", blocks, "--splits", "2", "--n", "500"]
    words = ["--model", "of_table.py:load", *data]
    assert main(["certify", *words, *chosen, "--out", "out.tsv"]) == 0
    assert main(["report", "out.tsv"]) == 0
    assert main(["verify", "out.tsv", *words, "--rerun", "2"]) == 0
    assert "no findings" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "target", "word"),
    [
        (TEXT, "sick", "sick"),
        ("age,ill\n30,no\n,yes\n", "ill", "age"),
        ("age,age,ill\n30,1,no\n", "ill", "once"),
        ("age,ill\n30\n", "ill", "line 2"),
        ("", "ill", "names"),
        ("ill\nno\n", "ill", "beside"),
    ],
)
def test_what_is_no_table_is_refused_in_one_line(path, text, target, word):
    path.write_text(text)
    with pytest.raises(ValueError, match=word) as refusal:
        read_table(path, target)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("age,job,ill\n30,cook,no\n50,smith,\n", "line 3"),
        ("age,job,ill\n30,cook,0\n50,smith,\n", "column 'ill'"),
        ("age,job,ill\n30,cook,.5\n50,smith,1\n", "column 'ill'"),
        ("age,job,ill\n30,cook,no\n,smith,yes\n", "column 'age'"),
        ("age,job,ill\n30,cook,no\ninf,smith,yes\n", "column 'age'"),
        ("age,job,ill\n1e300,cook,no\n-1e300,smith,yes\n", "column 'age'"),
        ("age,job,ill\n30,gr\xfcn,no\n", "UTF-8"),
        ("age,job,ill\n30," + "a" * 200_000 + ",no\n", "CSV"),
    ],
)
def test_what_a_table_holds_is_refused_by_the_name_of_data(path, text, word):
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(ArgumentError, match=rf"^data .*{word}") as refusal:
        read_table(path, "ill")
    assert "\n" not in str(refusal.value)


def test_numbers_beyond_float32_are_refused(path):
    with pytest.raises(ArgumentError, match=r"^data .*float32"):
        read_table(path, "ill", units={"age": 1e-300})


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--scale", "255"], "--scale"),
        (["--resize", "5"], "--resize"),
        (["--crop", "5"], "--crop"),
        (["--like", "latin.csv"], "--like"),
        (["--like", "gaps.csv"], "--like"),
        (["--data", "x.npz", "--like", "table.csv"], "--data"),
    ],
)
def test_options_that_are_not_of_a_table_are_refused(path, capsys, words, named):
    path.with_name("m.py").write_text(MODEL)
    path.with_name("latin.csv").write_bytes("age,ill\n1,gr\xfcn\n".encode("latin-1"))
    path.with_name("gaps.csv").write_text(TEXT.replace("50", ""))
    np.savez(path.with_name("x.npz"), x=np.zeros((2, 3), np.float32), y=[0, 1])
    table = ["--data", "table.csv", "--target", "ill", "--sigma", "1"]
    words = ["certify", "--model", "m.py:load", *table, *words, "--out", "out.tsv"]
    assert main(words) == 2
    error = capsys.readouterr().err.strip()
    assert error.startswith(f"rsbounds certify: {named} ")
    assert "\n" not in error


@pytest.mark.parametrize("option", ["--units", "--like", "--categories"])
def test_options_of_a_table_need_one(path, capsys, option):
    path.with_name("m.py").write_text(MODEL)
    np.savez(path.with_name("x.npz"), x=np.zeros((2, 3), np.float32), y=[0, 1])
    words = ["--model", "m.py:load", "--data", "x.npz", "--sigma", "1"]
    words += [option, "age=1" if option == "--units" else "table.csv"]
    assert main(["certify", *words, "--out", "out.tsv"]) == 2
    assert f"{option} is for a table" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"categories": ["size"]}, "categories"),
        ({"categories": ["ill"]}, "categories"),
        ({"units": {"size": 2.0}}, "units"),
        ({"units": {"job": 2.0}}, "units"),
        ({"units": {"income": 2.0}, "categories": ["income"]}, "units"),
        ({"units": {"age": 0.0}}, "units"),
    ],
)
def test_columns_that_options_name_are_of_their_kind(path, options, name):
    with pytest.raises(ArgumentError, match=f"^{name} "):
        read_table(path, "ill", **options)


def test_nothing_is_a_value_of_a_category_and_no_class(path):
    pandas = pytest.importorskip("pandas")
    path.write_text("age,job,ill\n30,,no\n50,smith,yes\n")
    frame = pandas.read_csv(path)
    for source in (path, frame):
        assert read_table(source, "ill").values == {"job": ("", "smith")}
    frame.loc[1, "ill"] = None
    with pytest.raises(ArgumentError, match="row 1"):
        read_table(frame, "ill")


def test_the_command_line_asks_for_the_column_of_the_classes(path, capsys):
    words = ["--model", "m.py:load", "--data", "table.csv", "--sigma", "1"]
    path.with_name("m.py").write_text("def load():\n    return lambda batch: batch\n")
    assert main(["certify", *words, "--out", "out.tsv"]) == 2
    assert "--target" in capsys.readouterr().err


def test_a_table_s_own_groups_of_columns_are_taken(path, capsys):
    path.with_name("of_table.py").write_text(MODEL)
    words = ["certify", "--model", "of_table.py:load", "--data", "table.csv"]
    words += ["--target", "ill", "--categories", "income", "--method", "blocks"]
    words += ["--n", "500"]
    words += ["--units", "age=10"]
    stated = ["--blocks", "gaussian:sigma=.1;categorical:keep=.9,values=3"]
    asked = (
        ["--blocks", "auto:sigma=.1,keep=.9"],
        stated,
        [*stated, "--splits", "1"],
    )
    runs = []
    for number, own in enumerate(asked):
        out = f"{number}.tsv"
        assert main([*words, *own, "--out", out]) == 0, capsys.readouterr().err
        runs.append(results.read(out))
    ours, theirs, split = runs
    assert ours.manifest.parameters == {
        "blocks": [
            {"method": "gaussian", "sigma": 0.1},
            {"method": "categorical", "keep": 0.9, "values": 3},
        ],
        "splits": [1],
    }
    assert ours.manifest.parameters == split.manifest.parameters
    assert theirs.manifest.parameters == split.manifest.parameters
    assert [row.radius for row in ours.rows] == [row.radius for row in split.rows]


@pytest.mark.parametrize(
    "noise",
    [
        ["--sigma", "1"],
        ["--method", "uniform", "--sigma", "1"],
        ["--sigma", "1", "--transform", "brightness"],
        # a group of numbers that reaches into the categories
        [
            *("--method", "blocks", "--splits", "3"),
            *("--blocks", "gaussian:sigma=1;categorical:keep=.9,values=3"),
        ],
    ],
)
def test_noise_of_numbers_is_not_added_to_categories(path, capsys, noise):
    path.write_text(TEXT.replace("ill", "sex,ill", 1).replace(",no", ",f,no"))
    path.write_text(path.read_text().replace(",yes", ",m,yes"))
    path.with_name("of_table.py").write_text(MODEL)
    words = ["--model", "of_table.py:load", "--data", "table.csv", "--target", "ill"]
    out = ["--n", "500", "--out", "out.tsv"]
    assert main(["certify", *words, *noise, *out]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "--method " in said
    assert "sex" in said
    assert "auto:" in said
    assert not path.with_name("out.tsv").exists()


def test_noise_of_numbers_is_not_added_to_a_frame_s_categories():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"age": [3.0, 5.0, 4.0], "job": [2, 0, 1]})
    labels = np.array([0, 1, 0])

    def model(batch):
        return np.stack([batch[:, 0] < 4, batch[:, 0] >= 4], 1).astype(float)

    run = certify_dataset(model, (frame, labels), schemes.gaussian(0.5), n=50)
    assert len(run.rows) == 3  # whole numbers may be anything
    for kind in ("category", "str"):
        frame["job"] = frame["job"].astype(kind)
        with pytest.raises(ArgumentError, match=r"^scheme .*job"):
            certify_dataset(model, (frame, labels), schemes.gaussian(0.5), n=50)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"--blocks": "auto:sigma=.1"}, "keep=P"),
        ({"--blocks": "auto:sigma=.1,keep=.9;auto:sigma=.1,keep=.9"}, "keep=P"),
        ({"--blocks": "auto:sigma=0,keep=.9"}, "sigma"),
        ({"--splits": "2"}, "--splits"),
        ({"--data": "x.npz", "--target": None}, "table"),
        ({"--data": "numbers.csv"}, "gaussian"),
        ({"--units": "age"}, "--units"),
        ({"--units": "size=3"}, "size"),
    ],
)
def test_what_no_table_gives_is_refused_in_one_line(path, capsys, change, word):
    path.with_name("of_table.py").write_text(MODEL)
    path.with_name("numbers.csv").write_text("age,ill\n30,no\n50,yes\n")
    np.savez(path.with_name("x.npz"), x=np.zeros((2, 3), np.float32), y=[0, 1])
    own = {"--data": "table.csv", "--target": "ill"} | {
        "--blocks": "auto:sigma=.1,keep=.9"
    }
    stated = {name: text for name, text in (own | change).items() if text is not None}
    words = [word for pair in stated.items() for word in pair]
    words += ["--model", "of_table.py:load", "--method", "blocks", "--n", "100"]
    try:
        status = main(["certify", *words, "--out", "out.tsv"])
    except SystemExit as stopped:  # argparse's own
        status = stopped.code
    error = capsys.readouterr().err
    assert status == 2
    assert word in error.splitlines()[-1]


@pytest.mark.parametrize("name", ["", "  ", "Unnamed: 0"])
def test_a_column_without_a_name_is_no_input(path, name):
    """Row numbers of pandas would be the model's first number, with noise on it."""
    path.write_text(f"{name},a,y\n0,1.5,yes\n1,0.5,no\n")
    with pytest.raises(ArgumentError, match=r"column 1 has none.*index=False") as no:
        read_table(path, "y")
    assert no.value.name == "data"
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({name: [0, 1], "a": [1.5, 0.5], "y": ["yes", "no"]})
    with pytest.raises(ArgumentError, match="column 1 has none"):
        read_table(frame, "y")


def test_a_column_whose_name_begins_with_a_space_is_seen(path):
    """It said that the target must be of the columns a, y and not 'y'."""
    path.write_text("a, y\n1.5,yes\n0.5,no\n")
    with pytest.raises(ArgumentError, match="columns 'a', ' y'; got 'y'"):
        read_table(path, "y")


@pytest.mark.parametrize("first", ["1.5,2.5,0", "5,3,1", "0,1,-1"])
def test_a_row_of_numbers_is_no_line_of_names(path, first):
    path.write_text(f"{first}\n1.0,2.0,1\n2.0,1.0,0\n")
    with pytest.raises(ArgumentError, match="must begin with a line of names"):
        read_table(path, first.split(",")[-1])
    path.write_text("0,1,2\n1.0,2.0,1\n2.0,1.0,0\n")
    assert read_table(path, "2").numbers == ("0", "1")


@pytest.mark.parametrize("code", ["01234", "-007", "1_2"])
def test_codes_of_digits_are_categories(path, code):
    """Noise on a postal code would be noise on a number that nobody measured."""
    path.write_text(f"code,a,y\n{code},1.5,yes\n12345,0.5,no\n")
    table = read_table(path, "y")
    assert table.categories == ("code",)
    assert table.values["code"] == tuple(sorted([code, "12345"]))
    path.write_text("code,a,y\n0.5,1.5,yes\n0,0.5,no\n")
    assert read_table(path, "y").categories == ()


def test_a_table_is_the_same_however_it_is_stored(path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    expected = read_table(path, "ill")
    frame = pandas.read_csv(path)
    frame.to_csv("t.csv.gz", index=False)
    frame.to_csv("t.txt", index=False, sep=";", decimal=",")
    frame.to_parquet("t.parquet")
    for table in (
        read_table("t.csv.gz", "ill"),
        read_table("t.txt", "ill", separator=";", decimal=","),
        read_table("t.parquet", "ill"),
    ):
        np.testing.assert_array_equal(table.x, expected.x)
        assert (table.values, table.classes) == (expected.values, expected.classes)


@pytest.mark.parametrize("name", ["t.csv.gz", "t.parquet"])
def test_bytes_that_are_no_such_table_are_refused(path, name):
    pytest.importorskip("pyarrow")
    path.with_name(name).write_bytes(b"PAR1 or gzip, neither")
    with pytest.raises((ArgumentError, OSError), match=r"t\.|gzip") as no:
        read_table(path.with_name(name), "ill")
    assert "\n" not in str(no.value)


def test_frames_of_mixed_or_doubled_columns_are_refused(path):
    pandas = pytest.importorskip("pandas")
    mixed = pandas.DataFrame({"a": [1.5, "?"], "b": [1, 2], "y": ["yes", "no"]})
    with pytest.raises(ArgumentError, match=r"number in column 'a'.*row 1 has '\?'"):
        read_table(mixed, "y")
    gaps = mixed.assign(a=pandas.array([1, None], dtype="Int64"))
    with pytest.raises(ArgumentError, match="row 1 has ''"):
        read_table(gaps, "y")
    twice = mixed.set_axis(["a", "a", "y"], axis=1)
    with pytest.raises(ArgumentError, match="columns 1 and 2 are both 'a'"):
        read_table(twice, "y")
    with pytest.raises(ArgumentError, match=r"^decimal is for CSV files"):
        read_table(mixed, "y", decimal=",")


def test_categories_are_text_where_those_of_training_are(path):
    path.write_text("a,b,y\n1,2,no\n2,x,yes\n")
    like = read_table(path, "y", categories=["b"])
    path.write_text("a,b,y\n1,2,no\n2,2,yes\n")
    assert read_table(path, "y", like=like).x[:, 1].tolist() == [0, 0]


GAPS = """age,job,income,ill
30,cook,1.5,no
?,smith,2.5,yes
40,,,no
60,clerk,3.5,yes
"""


def test_missing_numbers_are_filled_in_by_the_rule_of_the_training_rows(path):
    path.write_text(GAPS)
    train = read_table(path, "ill", missing="median")
    assert train.fills == {"age": 40.0, "income": 2.5}
    assert train.numbers == ("age", "income")
    own = train.columns(train.x)
    np.testing.assert_allclose(own["age"], [30, 40, 40, 60])
    assert own["age missing"].tolist() == ["no", "yes", "no", "no"]
    assert own["job"].tolist() == ["cook", "smith", "missing", "clerk"]
    assert train.alphabets == [2, 4]
    path.write_text("age,job,income,ill\nNA,cook,2,no\n")
    test = read_table(path, "ill", like=train)
    own = test.columns(test.x)
    np.testing.assert_allclose(own["age"], 40)
    assert own["age missing"].tolist() == ["yes"]
    assert own["income missing"].tolist() == ["no"]


@pytest.mark.parametrize(("rule", "age"), [("median", 40.0), ("mean", 130 / 3)])
def test_a_frame_with_gaps_is_filled_in_as_its_file_is(path, rule, age):
    pandas = pytest.importorskip("pandas")
    path.write_text(GAPS)
    mine = read_table(path, "ill", missing=rule)
    its = read_table(pandas.read_csv(path, na_values=["?"]), "ill", missing=rule)
    np.testing.assert_array_equal(mine.x, its.x)
    assert mine.fills == its.fills
    assert mine.fills["age"] == age


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        (GAPS, {}, "line 3 has '\\?': say missing='median'"),
        (GAPS, {"missing": "zero"}, "missing must be one of 'median', 'mean'"),
        ("a,a missing,y\n1,2,0\n,2,1\n", {"missing": "mean"}, "no column 'a missing'"),
        ("a,y\n1,\n,1\n", {"missing": "mean"}, "must have a class in every row"),
    ],
)
def test_gaps_without_a_rule_or_a_number_are_named(path, text, options, said):
    path.write_text(text)
    with pytest.raises(ArgumentError, match=said):
        read_table(path, "ill" if text == GAPS else "y", **options)


def test_a_gap_in_a_column_that_had_none_is_named(path):
    train = read_table(path, "ill", missing="median")
    assert (train.missing, train.fills) == ("median", {})
    path.write_text("age,job,income,ill\n,cook,2,no\n50,cook,1,no\n")
    with pytest.raises(ArgumentError, match="column 'age'"):
        read_table(path, "ill", like=train)


def test_one_command_fills_in_what_is_missing(path):
    path.with_name("model.py").write_text(MODEL)
    path.write_text(GAPS)
    words = "certify --model model.py:load --data table.csv --target ill --missing mean"
    words += " --units age=10,income=1 --method blocks --blocks auto:sigma=.25,keep=.9"
    assert main([*words.split(), "--n", "1000", "--out", "o.tsv"]) == 0
    manifest = results.read("o.tsv").manifest
    assert manifest.data["missing"] == "mean"
    assert main(["verify", "o.tsv", *words.split()[3:11]]) == 0


BY_NAME = """
import numpy as np
import pandas as pd
class Fitted:
    classes_ = np.array({classes})
    feature_names_in_ = np.array({names}, dtype=object)
    def predict(self, frame):
        assert list(frame.columns) == list(self.feature_names_in_)
        return self.classes_[(frame["age"] > 45).to_numpy().astype(int)]
    def predict_proba(self, frame):
        return np.eye(2)[(frame["age"] > 45).to_numpy().astype(int)]
def load():
    return Fitted()
def method():
    return Fitted().predict_proba
"""
SWAPPED = "income,age,ill\n3,30,no\n5,60,yes\n4,31,no\n2,61,yes\n"


@pytest.mark.parametrize("callable_", ["load", "method"])
def test_a_model_that_names_its_columns_gets_them_by_name(path, capsys, callable_):
    """They were taken by position, in units that it was never fitted on."""
    pytest.importorskip("pandas")
    classes = "[False, True]" if callable_ == "load" else "[0, 1]"
    names = "['age', 'income']"
    path.write_text(SWAPPED.replace("no", "False").replace("yes", "True"))
    path.with_name("m.py").write_text(BY_NAME.format(classes=classes, names=names))
    words = ["--model", f"m.py:{callable_}", "--data", "table.csv", "--target", "ill"]
    certify = ["certify", *words, "--sigma", ".1", "--n", "100", "--out"]
    assert main([*certify, "o.tsv"]) == 0
    rows = results.read("o.tsv").rows
    assert [row.predict for row in rows] == [row.label for row in rows] == [0, 1, 0, 1]
    assert main(["verify", "o.tsv", *words, "--rerun", "4"]) == 0
    capsys.readouterr()
    path.write_text(path.read_text().replace("income", "wage"))
    assert main([*certify, "p.tsv"]) == 2
    message = capsys.readouterr().err
    assert names in message
    assert "['wage', 'age']" in message


@pytest.mark.parametrize(
    ("labels", "cells"),
    [
        (["yes", "no"], ("no", "yes")),
        (["no", "perhaps", "yes"], ("no", "yes")),
        ([2, 1], ("1", "2")),
        ([False, True], ("False", "True")),
    ],
)
def test_classes_of_a_table_are_numbered_by_the_model_s_names(path, labels, cells):
    """Their own order was taken: another one, or fewer, gave other classes."""
    path.write_text(SWAPPED.replace("no", cells[0]).replace("yes", cells[1]))
    data = TableData(read_table(path, "ill"), "table.csv", labels)
    by_text = [str(label) for label in labels]
    low, high = (by_text.index(cell) for cell in cells)
    assert data.labels.tolist() == [low, high, low, high]
    assert data.item(1).label == high
    with pytest.raises(ArgumentError, match="of the model's classes"):
        TableData(read_table(path, "ill"), "table.csv", labels[:1])


def test_classes_that_order_alone_numbers_are_all_of_the_model_s(path, capsys):
    path.with_name("m.py").write_text(
        "import numpy as np\ndef load():\n    return lambda b: np.tile(b[:, :1], 3)\n"
    )
    path.write_text(SWAPPED)
    words = "--model m.py:load --data table.csv --target ill --sigma 1 --n 50"
    assert main(["certify", *words.split(), "--out", "o.tsv"]) == 2
    message = capsys.readouterr().err
    assert "has 2 classes and the model 3" in message
    assert "--like" in message
