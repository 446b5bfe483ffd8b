"""How others print radii: nobody honest is accused, and what was raised is found."""

import json
from pathlib import Path

import numpy as np
import pytest
from cases import slow_but
from cli_models import says
from scipy.stats import beta, norm

from rsbounds.audit._printing import Printing
from rsbounds.audit.internal import verify_printed
from rsbounds.results import read

pytest.importorskip("flint")
ALPHA = 0.001
HEAD = "idx\tlabel\tpredict\tradius\tcorrect\ttime"


def cut(digits):
    return lambda r: f"{np.floor(r * 10**digits) / 10**digits:.{digits}f}"


def place(r):
    """The place of the first digit."""
    return 10.0 ** np.floor(np.log10(r))


#: Ways to print a radius, and the unit of the last digit.
WAYS = {
    "three digits": (lambda r: f"{r:.3}", lambda r: place(r) / 100),
    "six digits": (lambda r: f"{r:.6g}", lambda r: place(r) / 1e5),
    "two decimals": (lambda r: f"{r:.2f}", lambda r: 1e-2),
    "three decimals": (lambda r: f"{r:.3f}", lambda r: 1e-3),
    "four decimals": (lambda r: f"{r:.4f}", lambda r: 1e-4),
    "five decimals": (lambda r: f"{r:.5f}", lambda r: 1e-5),
    "cut to three": (cut(3), lambda r: 1e-3),
    "cut to five": (cut(5), lambda r: 1e-5),
    "all digits": (repr, lambda r: 1e-9 * r),
    "single precision": (lambda r: str(np.float32(r)), lambda r: 1e-6 * r),
    "single precision, digits": (lambda r: f"{np.float32(r):.8e}", lambda r: 1e-6 * r),
    "single precision, places": (lambda r: f"{np.float32(r):.9f}", lambda r: 1e-6 * r),
    "halved": (lambda r: f"{r / 2:.5f}", lambda r: 2e-5),
    "halved, all digits": (lambda r: repr(r / 2), lambda r: 2e-9 * r),
}  # fmt: skip


def radii(n, sigma, many=100):
    """Honest radii as the field computes them, with SciPy."""
    rng = np.random.default_rng(n)
    p = np.where(rng.random(many) < 0.3, rng.uniform(0.97, 1, many),
                 rng.uniform(0.6, 1, many))  # fmt: skip
    counts = np.clip(rng.binomial(n, p), 1, n)
    z = norm.ppf(beta.ppf(ALPHA, counts, n - counts + 1))
    return [float(sigma * each) for each in z if each > 0]


def written(texts):
    lines = [f"{i}\t3\t3\t{text}\t1\t0:00:01" for i, text in enumerate(texts)]
    Path("paper.tsv").write_text("\n".join([HEAD, *lines]) + "\n")
    return "paper.tsv"


@pytest.mark.parametrize("n", slow_but([100], [100, 1000, 10_000, 100_000]))
@pytest.mark.parametrize("way", WAYS)
def test_nobody_honest_is_accused_and_what_was_raised_is_found(
    tmp_path, monkeypatch, way, n
):
    monkeypatch.chdir(tmp_path)
    text_of, unit_of = WAYS[way]
    # of many samples a file takes seconds, and a level only scales what it says
    for sigma in (0.12, 0.5, 1.0) if n <= 1000 else (0.12,):
        honest = radii(n, sigma)
        texts = list(map(text_of, honest))
        found = verify_printed(written(texts), sigma=sigma, n=n, alpha=ALPHA)
        explained = {"arithmetic"} if "all digits" in way else {"rounded up"}
        if "single precision" in way:  # one in some 600 is raised by less than 1e-10
            explained.add("arithmetic")
        assert set(found.of_kind()) <= explained
        if "cut" in way or "halved" in way:
            assert not found.findings
        # rows above what all samples earn, by more than printing explains: a column
        # that was halved claims as much only where it is above that itself
        top = sigma * norm.ppf(beta.ppf(ALPHA, n, 1)) * (2 if "halved" in way else 1)
        for few in (1, len(texts) // 4):
            text = text_of(float(top + 2.1 * unit_of(top)))
            raised = [text] * few + texts[few:]
            name = written(raised)
            found = verify_printed(name, sigma=sigma, n=n, alpha=ALPHA)
            large = [f.index for f in found.findings if f.kind.value == "too large"]
            assert large == list(range(few))
            assert [f.index for f in found.findings][:few] == large


@pytest.mark.parametrize("way", ["three digits", "cut to three", "five decimals"])
def test_a_raised_radius_that_no_count_prints_as_is_told(tmp_path, monkeypatch, way):
    """Against all counts, printed by the printer itself."""
    monkeypatch.chdir(tmp_path)
    text_of, unit_of = WAYS[way]
    n, sigma = 100, 0.5
    counts = np.arange(60, n + 1)
    table = sigma * norm.ppf(beta.ppf(ALPHA, counts, n - counts + 1))
    prints = {float(text_of(float(r))) for r in table if r > 0}
    honest = radii(n, sigma, many=200)
    kept, raised = honest[:150], [r + 3 * unit_of(r) for r in honest[150:]]
    texts = list(map(text_of, [*kept, *raised]))
    expected = {i for i, text in enumerate(texts) if float(text) not in prints}
    found = verify_printed(written(texts), sigma=sigma, n=n, alpha=ALPHA).findings
    told = {f.index for f in found if f.kind.value != "rounded up"}
    assert len(expected) > 20
    assert told == expected


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["0.123", "1.234", "0.5"], "3 decimals"),
        (["0.123", "1.23", "0.0123"] * 9, "3 significant digits"),
        (["0.12345678", "1.2345679"], "single precision"),
        (["1.30955410", "1.62571967", "0.218025208"], "single precision"),
        (["1.30955411", "1.62571967", "0.218025208"], "9 significant digits"),
    ],
)
def test_digits_are_those_of_the_column(texts, said):
    assert said in str(Printing.of(texts))


def test_trailing_zeros_are_digits():
    """0.250 and 0.25 were one number, and 1.50 one of a single decimal."""
    assert Printing.of(["1.50", "0.50"]).unit(1.5) == 0.01
    assert Printing.of(["1.5", "0.5"]).unit(1.5) == 0.1
    # in both ways: the fewer digits, so that nobody is accused of the other
    assert Printing.of(["1.50", "1.5", "0.5", "0.7"]).unit(1.5) == 0.1
    assert Printing.of(["1.5e-05", "2.50e-05", "3.00e-05"] * 9).unit(3e-5) == 1e-7


def test_a_radius_raised_by_a_digit_that_its_zeros_rule_out(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # 1000 of 1000 samples earn 1.2809: 1.3 may be that, and 1.300 is not
    for cells, expected in ((["1.3", "0.5", "0.2"], []), (["1.300", "0.500"], [0])):
        path = written(cells)
        found = verify_printed(path, sigma=0.52, n=1000, alpha=ALPHA).findings
        assert [f.index for f in found if f.kind.value == "too large"] == expected


def test_limits_lie_below_the_radii_they_reject(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    honest = [f"{r:.3}" for r in radii(1000, 0.5)]
    name = written(["1.41", *honest])
    argv = ["verify", name, "--sigma", "0.5", "--n", "1000", "--alpha", "0.001"]
    argv.append("--json")
    for finding in json.loads(says(capsys, argv, 1))["findings"]:
        radius = read(name).rows[finding["input"]].radius
        limit = finding["finding"].replace("...", "")
        words = [word.strip(",") for word in limit.split()]
        numbers = [float(w) for w in words if w.replace(".", "").isdigit() and "." in w]
        assert numbers[0] == radius
        assert max(numbers[1:]) < radius


def columns(rows, names):
    lines = (f"{i}\t3\t3\t{row}" for i, row in enumerate(rows))
    head = "\t".join(["idx\tlabel\tpredict\tradius\tcorrect", *names])
    Path("paper.tsv").write_text("\n".join([head, *lines]) + "\n")
    return ["verify", "paper.tsv", "--sigma", "0.5", "--n", "1000", "--alpha", "0.001"]


def test_counts_and_bounds_beside_radii_are_used(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    p = beta.ppf(ALPHA, 900, 101)
    r = 0.5 * norm.ppf(p)
    good = f"{r:.4f}\t1\t900\t{p:.5f}"
    names = ("count", "pA")
    text = says(capsys, columns([good], names), 0)
    assert "without counts" not in text
    for bad, said in (
        (f"{r:.4f}\t1\t890\t{p:.5f}", "but its 890 of 1000 samples earn 0.5"),
        (f"{r:.4f}\t1\t900\t{p + 0.002:.5f}", "that of 900 of 1000 samples"),
        (f"{r:.4f}\t1\t900\t{p - 0.01:.5f}", "which gives 0."),
    ):
        assert said in says(capsys, columns([good, bad], names), 1)
    # a bound alone: above that of all samples, or below its radius
    assert "above 0.99" in says(capsys, columns(["0.0\t1\t0.9999"], ["pA"]), 1)
    assert "which gives" in says(capsys, columns([f"{r:.4f}\t1\t0.8"], ["pA"]), 1)
    for names, row in ((["count"], "1001"), (["pA"], "none"), (["margin"], "3.0")):
        text = says(capsys, columns([f"{r:.4f}\t1\t{row}"], names), 0)
        assert f"nothing is compared with: {names[0]}" in text
        assert text.count("without counts") == 1


@pytest.mark.parametrize("dim", [784, 3072, 150528])
@pytest.mark.parametrize("form", ["{:.3}", "{!r}"])
def test_radii_of_another_norm_are_hinted_at(tmp_path, monkeypatch, dim, form):
    """l2/sqrt(d) under the field's header is a radius in linf, which norm=inf says."""
    monkeypatch.chdir(tmp_path)
    n = 10_000
    most = 0.5 * norm.ppf(ALPHA ** (1 / n))
    honest = [most, *radii(n, 0.5, many=40)]
    path = written([form.format(float(r / np.sqrt(dim))) for r in honest])
    options = {"sigma": 0.5, "n": n, "alpha": ALPHA}
    notes = " ".join(verify_printed(path, **options).notes)
    assert f"linf, l2/sqrt(d) with d = {dim}? Then give norm=inf" in notes
    assert read(path, norm=np.inf).rows[0].norm == np.inf
    plain = written([repr(r) for r in honest])
    assert "linf" not in " ".join(verify_printed(plain, **options).notes)
