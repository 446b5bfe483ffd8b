"""The result file of ``rsbounds certify``: where it lies, what it keeps."""

from pathlib import Path

import pytest
from cli_models import MODELS, arguments, models, one_line, python, refused, says
from result_table import manifest, outcomes, state

from rsbounds.cli import main
from rsbounds.results.internal import read_rows

FLIPS = """
def flips():
    sign = 1 if not Path("flip").exists() else -1
    return lambda batch: sign * other()(batch)
"""


def test_a_refused_command_leaves_file_and_manifest_as_they_were(work, capsys):
    """30 finished rows were "30 of 100" after a run that was refused for its changed
    model.
    """
    models(MODELS + FLIPS)
    assert main(arguments(model="models:flips", max=3)) == 0
    files = [Path(f"out.tsv{end}") for end in ("", ".manifest.json")]
    files[0].write_bytes(files[0].read_bytes() + b"3\t1")  # as a kill leaves it
    state(probe={})  # the rows alone tell the models apart
    before = [path.read_bytes() for path in files]
    Path("flip").touch()
    one_line(capsys, arguments(model="models:flips"), "the model has changed: input")
    assert [path.read_bytes() for path in files] == before
    one_line(
        capsys,
        arguments(model="models:flips", start=1),
        "data.start was 0 and is now 1",
    )
    assert [path.read_bytes() for path in files] == before


MOVING = (
    MODELS
    + """
import os

def moves_when_built():
    os.chdir("elsewhere")
    return linear()

def moves_when_called():
    def call(batch):
        if Path("elsewhere").is_dir():
            os.chdir("elsewhere")
        return linear()(batch)
    return call
"""
)


@pytest.mark.parametrize("model", ["moves_when_built", "moves_when_called"])
def test_a_model_that_changes_the_folder_does_not_move_the_result_file(
    work, capsys, model
):
    models(MOVING)
    (work / "elsewhere").mkdir()
    assert (
        "\nout.tsv: 12 rows" in f"\n{says(capsys, arguments(model=f'models:{model}'))}"
    )  # as it was named
    assert not list((work / "elsewhere").iterdir())
    assert len(read_rows(work / "out.tsv")) == 12


def test_a_linked_result_file_stays_a_link(work):
    """Rows that come out of order made a regular file of it, and its target stayed
    behind.
    """
    (work / "disk").mkdir()
    Path("out.tsv").symlink_to("disk/real.tsv")
    assert main(arguments(start=6)) == 0
    Path("out.tsv").write_text(
        "".join(Path("out.tsv").read_text().splitlines(True)[::-1][-1:])
    )
    assert main(arguments(start=6)) == 0
    lines = Path("out.tsv").read_text().splitlines(True)
    Path("out.tsv").write_text(
        "".join([lines[0], *lines[:3:-1]])
    )  # 11, 10, 9: then 6 to 8
    assert main(arguments(start=6)) == 0
    assert Path("out.tsv").is_symlink()
    assert [row.idx for row in read_rows(work / "disk" / "real.tsv")] == [*range(6, 12)]


@pytest.mark.parametrize("place", ["/dev/full", "/dev/zero", "."])
def test_what_is_no_regular_file_is_refused_before_it_is_read(work, capsys, place):
    refused(capsys, arguments(out=place, model="models:fails"), "is not a regular file")


def test_start_and_max_split_one_data_file(work, capsys):
    assert main(arguments(out="all.tsv")) == 0
    assert main(arguments(max=5, out="calib.tsv")) == 0
    assert main(arguments(start=5, out="test.tsv")) == 0
    assert outcomes("calib.tsv") + outcomes("test.tsv") == outcomes("all.tsv")
    assert manifest("test.tsv")["data"]["start"] == 5
    assert main(["verify", "test.tsv", "--data", "data.npz"]) == 0
    one_line(
        capsys,
        ["merge", "m.tsv", "calib.tsv", "test.tsv"],
        "data.start was 0 and is now 5",
    )
    one_line(
        capsys, arguments(start=6, out="test.tsv"), "data.start was 5 and is now 6"
    )
    for i in (0, 1):
        assert main(arguments(start=5, skip=2, shard=f"{i}/2", out=f"{i}.tsv")) == 0
    assert main(["merge", "odd.tsv", "0.tsv", "1.tsv"]) == 0
    assert [row.idx for row in read_rows(Path("odd.tsv"))] == [5, 7, 9, 11]
    assert main(["verify", "odd.tsv", "--data", "data.npz"]) == 0


def test_a_name_that_the_output_cannot_spell_is_escaped(work):
    """It was written, and then the command failed for its own last line."""
    done = python(
        "-m",
        "rsbounds",
        *arguments(out="größe.tsv", n=100),
        env={"PYTHONIOENCODING": "ascii"},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("gr\\xf6\\xdfe.tsv: 12 rows")
    assert len(read_rows(Path("größe.tsv"))) == 12
