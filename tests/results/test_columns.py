"""A file read as columns says what it says row by row: numbers, notes, refusals."""

import tracemalloc
from dataclasses import fields

import numpy as np
import pytest

from rsbounds.reports import summary
from rsbounds.results import Manifest, Results, Row, _cells, _read
from rsbounds.results._cells import Unplain
from rsbounds.results._columns import FileRows
from rsbounds.results._row import seconds_in
from rsbounds.results.internal import write

ROWS = [
    Row(
        idx=i,
        label=i % 3,
        predict=-1 if i == 2 else i % 3,
        radius=0.0 if i == 2 else [0.5, np.inf, 1e-310, 0.1 + 0.2][i % 4],
        correct=i != 2,
        scope="fixed noise",
        time=["0:00:01.250000", "1 day, 0:00:02", "12:34:56"][i % 3],
        count=900,
        n=0 if i == 4 else 1000,
        p_a=np.nan if i == 4 else 0.9,
        sigma=0.5 if i % 2 else np.nan,
        method="gaussian" if i else "two words",
        norm=2.0 if i % 2 else "edit",
        z_a=-np.inf if i == 3 else 1.25,
        select=(0, 100),
        counts=(0, 0, 17, 983) if i % 2 else (),
        void=i,
        input="0123456789abcdef",
    )
    for i in range(6)
]
PUBLISHED = (
    "idx\tlabel\tpredict\tradius\tcorrect\ttime\tp_a\tname\n"
    "0\t1\t1\t0.25\t1\t0:00:01\t0.75\tx\n"
    "3\t2\t-1\t0.0\t0\t0:00:01.5\t-\ty z\n"
    "2\t2\t2\tinf\t1\t0:01:00\t0.9\t\n"
)
#: What may stand in a cell; most of it is refused in some columns.
ODD = (
    *("", " ", "-", "--", "0", "00", "1", "-1", "- 1", "+1", "1.", ".5", "1_0", "1e3"),
    *("1e400", "inf", "-inf", "INF", "nan", "0x1", " 2 ", "2\r", "0.1.2", "1,2", "2\0"),
    *("1:2", "1:2,3:4", "3:1,1:1", "1:0", "1:2,", ":1", "99999999:1", "1:2;3:4"),
    *("0:00:01", "0::1", "1.2.3:4:", ".:1:2", "5 days, 1:2:3", "\N{DEGREE SIGN}"),
    *("1234567890123456789", "123456789012345678", "edit", "1\t2", "1\n2", "-0.0"),
    *("True", "1e-400", "2.2250738585072011e-308", "0.30000000000000004"),
)


def read_by(path, *, by_row, content=None):
    """What a file is read as, or the message of its refusal."""
    with pytest.MonkeyPatch.context() as patch:
        if by_row:
            patch.setattr(_read, "_plain", _refuse)
        try:
            return _read.load(path, content)
        except ValueError as error:
            return str(error)


def _refuse(*_, **__):
    raise Unplain


def said(file):
    """Everything that a file says, comparable."""
    if isinstance(file, str):
        return file
    counted = {f.name: getattr(file.counted, f.name) for f in fields(file.counted)}
    counted = {name: np.asarray(value).tolist() for name, value in counted.items()}
    printed = {name: list(cells) for name, cells in file.printed.items()}
    return (
        tuple(file.rows),
        repr(counted),
        file.note,
        file.columns,
        printed,
        file.missing(),
        file.p_a(),
        file.rate(),
        [type(row.norm) for row in file.rows],
    )


def own(folder):
    path = folder / "run.tsv"
    write(path, Manifest(data={"inputs": 7}), ROWS)
    return path


def published(folder):
    path = folder / "sigma_0.50"
    path.write_text(PUBLISHED)
    return path


@pytest.mark.parametrize("make", [own, published])
def test_plain_files_are_read_as_columns(tmp_path, make):
    file = read_by(make(tmp_path), by_row=False)
    assert isinstance(file.rows, FileRows)
    assert said(file) == said(read_by(make(tmp_path), by_row=True))
    assert file.rows[-1] == file.rows[len(file.rows) - 1]
    assert file.rows[1:3] == tuple(file.rows)[1:3]
    in_memory = Results("", tuple(file.rows), manifest=file.manifest)
    assert repr(vars(in_memory.counted)) == repr(vars(file.counted))
    assert in_memory.p_a() == file.p_a()
    assert in_memory.rate() == file.rate()


@pytest.mark.parametrize("every", [8, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("make", [own, published])
def test_no_cell_is_read_otherwise_as_a_column(tmp_path, make, every):
    path = make(tmp_path)
    head, *lines = path.read_text().splitlines()
    refused = 0
    for column in range(head.count("\t") + 1):
        for odd in ODD[column % every :: every]:
            cells = lines[1].split("\t")
            cells[column] = odd
            text = "\n".join([head, lines[0], "\t".join(cells), *lines[2:]]) + "\n"
            content = text.encode()
            by_row = said(read_by(path, by_row=True, content=content))
            by_column = said(read_by(path, by_row=False, content=content))
            assert by_column == by_row, (column, odd)
            refused += isinstance(by_row, str)
    assert refused > 150 / every


def test_no_line_is_read_otherwise_as_a_column(tmp_path):
    for make in (own, published):
        path = make(tmp_path)
        text = path.read_text()
        head, *lines = text.splitlines(keepends=True)
        contents = [
            text[:-1],
            text[:-9],
            text + "\n",
            text + " ",
            text + head,
            text + lines[0],
            text.replace("\n", "\r\n"),
            "\N{BYTE ORDER MARK}" + text,
            head,
            head[:-1],
            head + "\n" + "".join(lines),
            "".join(lines),
            head.replace("label", "idx") + "".join(lines),
            head + "".join(reversed(lines)),
            head + lines[0].replace("0\t", "9\t", 1),
            head + "CleanACC = 2/4\n",
            head.replace("radius", " radius ") + "".join(lines),
            head.replace("radius", "linf_radius") + "".join(lines),
            head.replace("p_a", "scope") + "".join(lines)[:-1],
        ]
        for content in contents:
            changed = content.encode()
            by_row = said(read_by(path, by_row=True, content=changed))
            by_column = said(read_by(path, by_row=False, content=changed))
            assert by_column == by_row, content


def test_a_report_makes_no_row(tmp_path):
    """A run without a calibrated threshold made all of them, to find that none was
    among its inputs.
    """
    file = read_by(own(tmp_path), by_row=False)
    assert "fixed noise" in summary(file)["scopes"]
    assert not file.manifest.calibrated_on(file.rows)
    assert "_rows" not in vars(file.rows)


@pytest.mark.parametrize("block", [1, 60, 200])
@pytest.mark.parametrize("make", [own, published])
def test_blocks_of_any_size_say_the_same(tmp_path, monkeypatch, make, block):
    by_row = said(read_by(make(tmp_path), by_row=True))
    monkeypatch.setattr(_cells, "_BLOCK", block)
    file = read_by(make(tmp_path), by_row=False)
    assert isinstance(file.rows, FileRows)
    assert said(file) == by_row


@pytest.mark.parametrize("block", [1, 3000, 2**20])
def test_each_row_is_found_by_its_place(tmp_path, monkeypatch, block):
    monkeypatch.setattr(_cells, "_BLOCK", block)
    head, *lines = PUBLISHED.splitlines()
    cells = [line.split("\t", 1)[1] for line in lines]
    written = [f"{i}\t{cells[i % 3]}" for i in range(300)]
    content = "\n".join([head, *written, ""]).encode()
    rows = FileRows(content, len(head) + 1, len(content), head.split("\t"))
    assert [rows.line(i) for i in range(-300, 300)] == 2 * written
    with pytest.raises(IndexError):
        rows.line(300)


def test_reading_takes_27_bytes_a_row_beside_the_text(tmp_path, monkeypatch):
    """Index, radius and p_A of 8 bytes each, label, predict and correct of 1; parts
    that were kept until all were joined took twice as much.
    """
    monkeypatch.setattr(_cells, "_BLOCK", 2**14)
    head, *lines = own(tmp_path).read_text().splitlines()
    cells = [lines[place].split("\t", 1)[1] for place in (0, 1, 2)]
    many = 50_000
    text = "".join(f"{i}\t{cells[i % 3]}\n" for i in range(many))
    content = f"{head}\n{text}".encode()
    tracemalloc.start()
    try:
        rows = FileRows(content, len(head) + 1, len(content), head.split("\t"))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(rows) == many
    assert peak < 30 * many + 2**18  # of a block's cells


def test_numbers_of_a_column_are_those_that_python_reads():
    """With every number of digits, with and without signs, points and exponents."""
    rng = np.random.default_rng(0)
    numbers = rng.uniform(0, 10, 200) ** rng.integers(-9, 9, 200)
    texts = [f"{x:.{i % 19}f}" for i, x in enumerate(numbers.tolist(), 1)]
    odd = [repr(x) for x in numbers.tolist()]
    for cells in (texts, odd, [".5", "+1", "5.", "0007", "-2.25"], ["1", "-", "inf"]):
        content = "".join(f"\t{cell}\n" for cell in ["", *cells]).encode()
        [block] = _cells.blocks_of(content, 2, len(content), 2)
        expected = [np.nan if cell == "-" else float(cell) for cell in cells]
        found = block[1].numbers(dash=True)
        assert np.array_equal(found, expected, equal_nan=True), cells


def test_times_of_a_column_are_the_seconds_that_python_reads():
    """Of the form that Python writes, read by place, and of others among them."""
    rng = np.random.default_rng(0)
    drawn = rng.integers([0] * 3, [10, 60, 60 * 10**6], (2000, 3)).tolist()
    usual = [
        f"{hours}:{minutes:02}:{part // 10**6:02}.{part % 10**6:06}"
        for hours, minutes, part in drawn
    ]
    longest = ["9:99:99.999999", "0:00:00.000000"]
    for times in (usual, longest, [*usual[:9], "0:00:01"], ["12:34:5.67890", usual[0]]):
        content = "".join(f"\t{time}\n" for time in ["", *times]).encode()
        [block] = _cells.blocks_of(content, 2, len(content), 2)
        found = _cells.seconds_of(block[1]).tolist()
        assert found == [seconds_in(time) for time in times], times
    # signs of the table of characters on either side of the digits, and other marks
    for odd in ("0:00:0/.000000", "0:00:0:.000000", "0.00.00.000000", "x:00:00.000000"):
        content = f"\t{odd}\n\t{odd}\n".encode()
        [block] = _cells.blocks_of(content, len(odd) + 2, len(content), 2)
        with pytest.raises(Unplain):
            _cells.seconds_of(block[1])


@pytest.mark.parametrize("cells", [["1.2.3", ""], [".", "12.3"], ["1-2"], ["", "1 2"]])
def test_what_is_no_number_is_not_made_up_of_its_neighbours(cells):
    content = "".join(f"\t{cell}\n" for cell in ["", *cells]).encode()
    [block] = _cells.blocks_of(content, 2, len(content), 2)
    with pytest.raises(Unplain):
        block[1].numbers(dash=True)


def test_rows_of_a_file_are_those_that_were_written(tmp_path):
    file = read_by(own(tmp_path), by_row=False)
    assert file.rows == tuple(ROWS)
    assert tuple(ROWS) == file.rows


@pytest.mark.parametrize("n", [0, 127, 128, 2**31, 2**40 + 1, 10**18 - 1])
def test_whole_numbers_kept_in_few_bytes_are_the_same(tmp_path, n):
    # joined as floats, 10^18 - 1 beside 0 would be 10^18
    file = tmp_path / "run.tsv"
    rows = [Row(0, 1, 1, 0.5, True, n=n), Row(1, -2, -1, 0.0, False, n=0)]
    write(file, Manifest(data={"inputs": 2}), rows)
    there = _read.load(file)
    assert isinstance(there.rows, FileRows)
    assert set(there.counted.ns) == {n, 0}
    assert all(type(number) is int for number in there.counted.ns)
    assert there.rows.values("n").tolist() == [n, 0]
