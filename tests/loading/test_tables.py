"""Tables: columns by kind, units, categories, and one command from a CSV."""

import numpy as np
import pytest

from rsbounds import certify_dataset, results, schemes
from rsbounds._numerics.errors import ArgumentError
from rsbounds.cli import main
from rsbounds.loading import read_table

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
        ("age,job,ill\n30,cook,no\n50,smith,\n", "row 1"),
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
