"""Errors in the headers, each of which a program refutes: constants halved, borders
moved one regime outward, coefficients off by 4 ulp or as little as counts.

What rests on paper has no program. There the ledger is the test, and every constant and
every border is tried against it too. Levels that the package computes in Python have
tests by exact enumeration (test_exact_levels.py), and errors of their own here.
"""

import importlib
import math
import os
import re
import runpy
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from .balls import HEADERS

TESTS = Path(__file__).parents[1]
ULPS = 4


class Edit(NamedTuple):
    """A text that stands once in a header, what to write for it, who must object."""

    header: str
    before: str
    after: str
    claims: tuple[str, ...]


class Nudge(NamedTuple):
    """A number of the array after a text (`skip` arrays further on), off by ulps."""

    header: str
    array: str
    index: int
    claims: tuple[str, ...]
    skip: int = 0
    ulps: int = ULPS


class Slip(NamedTuple):
    """Texts that stand once in a module of the package, what to write for them, and the
    test that must fail: of test_exact_levels, or of the file named before a colon.
    """

    file: str
    changes: tuple[tuple[str, str], ...]
    test: str


# what is the bound of a claim itself is halved in test_proofs.py
CONSTANTS = [
    Edit(
        "binomial.hpp", "node_error = 6e-15", "node_error = 3e-15", ("binomial nodes",)
    ),
]
BORDERS = [
    Edit("binomial.hpp", "nodes = 52;", "nodes = 48;", ("binomial nodes",)),
    Edit("ball.hpp", "(c2 < 30 ? small", "(c2 < 1 ? small", ("score (small)",)),
    Edit("central.hpp", "central_most = 60", "central_most = 600", ("central",)),
    Edit("central.hpp", "central_most = 60", "central_most = 40", ("large_df",)),
    Edit("large_df.hpp", "uniform_reach = 6", "uniform_reach = 7", ("large_df",)),
    Edit("large_df.hpp", "tau.hi < 1.6", "tau.hi < 1.2", ("large_df",)),
    Edit("central.hpp", "sqrt(75 * a)", "sqrt(60 * a)", ("central",)),
    Edit("poisson.hpp", "poisson_most = 16", "poisson_most = 2000", ("poisson",)),
    Edit("poisson.hpp", "poisson_beyond = 16", "poisson_beyond = 4", ("poisson",)),
    Edit("poisson.hpp", "poisson_terms = 128", "poisson_terms = 40", ("poisson",)),
    Edit("contour.hpp", "aliasing = 42", "aliasing = 36", ("discretisation",)),
    Edit("contour.hpp", "line = 4.47", "line = 6.5", ("discretisation",)),
    Edit(
        "contour.hpp", "std::sqrt(c2) + 0.3", "std::sqrt(c2) + 3.0", ("discretisation",)
    ),
    Edit("contour.hpp", "if (c2 < 350)", "if (c2 < 200)", ("discretisation",)),
    Edit("contour.hpp", "if (c2 < 350)", "if (c2 < 300)", ("orders",)),
    Edit("contour.hpp", "c2 < 1200  ?", "c2 < 700  ?", ("orders",)),
    Edit("contour.hpp", "c2 >= 2e4;", "c2 >= 1e4;", ("discretisation",)),
    Edit("contour.hpp", ": c2 < 2e4 ?", ": c2 < 1e4 ?", ("orders",)),
    Edit("contour.hpp", ": c2 < 6e4 ?", ": c2 < 3e4 ?", ("orders",)),
    Edit("nodes.hpp", "[lanes - 2] < 40)", "[lanes - 2] < 36)", ("last node",)),
    Edit("nodes.hpp", "kappa = 0x1.34p-2", "kappa = 0x1.44p-2", ("tables",)),
    Edit("nodes.hpp", "kappa = 0x1.58p-2", "kappa = 0x1.68p-2", ("tables",)),
    Edit("nodes.hpp", "{7, 7, 7, 6, 6}", "{6, 7, 7, 6, 6}", ("orders",)),
    Edit("normal.hpp", "p - 0.5) <= 0.425", "p - 0.5) <= 0.45", ("ndtri_centre",)),
    Edit("normal.hpp", "if (r <= 39)", "if (r <= 60)", ("ndtri_tail[3]",)),
    Edit("normal.hpp", "(r >= 8)", "(r >= 10)", ("ndtri_tail[1]",)),
    Edit(
        "normal.hpp",
        "log_upper = -0.07796154146971186",
        "log_upper = -0.08",
        ("constants",),
    ),
    Edit("simd.hpp", "v[lanes - 1] <= 0.27", "v[lanes - 1] <= 0.4", ("log1p (near)",)),
    Edit("simd.hpp", "v[lanes - 1] <= 0.27", "v[lanes - 1] <= 0.4", ("atan (near)",)),
    Edit("twofold.hpp", "v < 4e-3", "v < 8e-3", ("log_series (near)",)),
    Edit(
        "median.hpp", "series_from = 200", "series_from = 40", ("median[7]", "saddle")
    ),
    Edit("median.hpp", "w > 2e-4 ?", "w > 3.3e-3 ?", ("median[4]",)),
    Edit("median.hpp", "tau <= 1)", "tau <= 4)", ("saddle",)),
    Edit("median.hpp", "d > -0.2 *", "d > -0.4 *", ("saddle",)),
    Edit("gain.hpp", "(c2 < 5 ? 15 : 4) *", "(c2 < 1 ? 15 : 4) *", ("majorant",)),
    Edit("gain.hpp", "(c2 < 5 ? 15 : 4) *", "(c2 < 5 ? 15 : 2) *", ("majorant",)),
    Edit(
        "gain.hpp", "(c2 < 5 ? 15 : 4) *", "(c2 < 5 ? 7 : 4) *", ("majorant (small)",)
    ),
]
PLAIN = [
    ("normal.hpp", "sqrt_2pi = 2.5066282746310007", "sqrt_2pi = 2.506628274631001"),
    ("normal.hpp", "= 0.9189385332046728", "= 0.9189385332046729"),
    ("normal.hpp", "1.2533141373155003 *", "1.2533141373155006 *"),
    ("normal.hpp", "(2.6249349909537365", "(2.6249349909537387"),
    ("normal.hpp", "-1.8328579980459167e-16", "-1.84e-16"),
    ("simd.hpp", "0x1.921fb54400000p+1", "0x1.921fb54400001p+1"),
    ("simd.hpp", "0x1.3198a2e037073p-68", "0x1.3198a2e037083p-68"),
    ("simd.hpp", "x - n * 0x1.62e42fefa3800p-1", "x - n * 0x1.62e42fefa3801p-1"),
    ("twofold.hpp", "k * 0x1.ef35793c76730p-45", "k * 0x1.ef35793c76770p-45"),
    ("twofold.hpp", "ln2_low = 2.3190468138462996e-17", "ln2_low = 2.32e-17"),
    ("contour.hpp", "0x1.45f3068p-1", "0x1.45f3069p-1"),
    ("contour.hpp", "pi = 3.141592653589793", "pi = 3.1415926535897936"),
    ("gain.hpp", "0.16511967750062989", "0.16511967750063"),
]
NUMBERS = [Edit(*edit, ("constants",)) for edit in PLAIN]
NUMBERS += [
    Edit(
        "normal.hpp", "0.375, 0.21875}", "0.375, 0.21875000000001}", ("ndtri_tail[3]",)
    ),
    Edit(
        "normal.hpp", "{2.25, 4, 8, 17}", "{2.25, 4, 8, 17.000001}", ("ndtri_tail[3]",)
    ),
]
TAIL, CENTRE = "inline Sum2 ndtri_tail(Sum2 log_q)", "inline Sum2 ndtri_centre(Sum2 q)"
COEFFICIENTS = [
    Nudge("normal.hpp", "void mills(const V (&z)[N], V (&out)[N])", 0, ("mills",)),
    Nudge("normal.hpp", CENTRE, 7, ("ndtri_centre",), ulps=2**40),  # it is 1e-4 of all
    Nudge("normal.hpp", CENTRE, 6, ("ndtri_centre",), skip=1, ulps=2**24),
    Nudge("normal.hpp", TAIL, 0, ("ndtri_tail[0]",), ulps=64),  # it is small beside r
    Nudge("simd.hpp", "RSB_INLINE vec exp_neg(vec x)", 2, ("exp_neg",)),
    Nudge("simd.hpp", "vec& scale)", 1, ("sin",)),
    Nudge("simd.hpp", "vec& scale)", 1, ("cos",), skip=1),
    Nudge("simd.hpp", "LogAtan log1p_atan(vec q", 1, ("log1p (near)",)),
    Nudge("simd.hpp", "LogAtan log1p_atan(vec q", 0, ("atan (near)",), skip=1),
    Nudge("simd.hpp", "log1p_atan_general", 1, ("atanh",)),
    Nudge("simd.hpp", "log1p_atan_general", 1, ("atan",), skip=1),
    Nudge("twofold.hpp", "LogSeries log_series(double f)", 1, ("log_series",)),
    Nudge("twofold.hpp", "LogSeries log_series(double f)", 0, ("log_series (near)",)),
    Nudge("twofold.hpp", "Scaled2 exp_two", 0, ("exp_two",)),
    Nudge("ball.hpp", "inline double log1p_defect", 0, ("log1p_defect",)),
    Nudge("small_df.hpp", "inline double rgamma_defect(double a)", 0, ("rgamma",)),
    Nudge("central.hpp", "inline Sum2 rgamma_half(int k)", 0, ("central",), ulps=1),
    Nudge("large_df.hpp", "inline Sum2 near_mills", 0, ("mills (near)",)),
    Nudge("large_df.hpp", "inline double uniform_rest", 4, ("large_df",)),
    Nudge(
        "large_df.hpp",
        "inline double uniform_rest",
        0,
        ("large_df",),
        skip=1,
        ulps=2**30,
    ),
    Nudge("large_df.hpp", "inline double stirling_share", 1, ("stirling",), ulps=64),
    Nudge(
        "gain.hpp", "inline double log_gamma(double z)", 0, ("log_gamma",), ulps=2**9
    ),
    Nudge("gain.hpp", "double mean_of(F f, bool nine)", 2, ("constants",)),
    Nudge("gain.hpp", "double mean_of(F f, bool nine)", 2, ("constants",), skip=1),
    Nudge("scores.hpp", "inline double mean_density", 1, ("constants",)),
    Nudge("median.hpp", "double c1[]", 0, ("median[7]",), skip=-1, ulps=1),
    Nudge("median.hpp", "double c6[]", 3, ("median[7]",), skip=-1, ulps=1),
]


HULL = "test_no_mixture_fails_more_than_the_hull_allows_on_any_grid"
SHARES = "test_the_hull_holds_for_shares_that_are_wrong_by_as_much_as_it_allows"
ASKED = "test_as_many_scores_are_asked_as_the_rule_says"
MARGIN = "test_no_margin_of_several_is_too_large"
PARTS = "test_levels_of_parts_add_up_to_no_more_than_alpha"
HOLM = "test_holm_rejects_what_its_definition_does_at_every_border"
ENDS = "test_each_end_of_an_interval_has_half_of_alpha_with_void_samples"
STAGES = "test_each_bound_of_a_stage_has_its_part_of_alpha"
ORACLE = "composite/test_counts.py:test_recomputed_by_the_oracle"
CLEAN, RIGHT = "clean + SHARE_ERROR", "np.append(clean + SHARE_ERROR, 1.0)"
MOVED, LEFT = "moved - SHARE_ERROR", "np.append(0.0, moved - SHARE_ERROR)"


def slip(file: str, before: str, after: str, test: str) -> Slip:
    return Slip(file, ((before, after),), test)


SETS = "answers/_sets.py"
IN_SETS = [
    slip(SETS, RIGHT, "np.append(0.0, clean + SHARE_ERROR)", HULL),
    slip(SETS, LEFT, "np.append(moved - SHARE_ERROR, 1.0)", HULL),
    Slip(SETS, ((RIGHT, CLEAN), (LEFT, MOVED)), HULL),  # the points of the grid alone
    slip(SETS, CLEAN, "clean", SHARES),
    slip(SETS, MOVED, "moved", SHARES),
    slip(SETS, "* missed)) - SHARE_ERROR)", "* missed)))", SHARES),
    slip(
        SETS,
        "n + 1 - math.floor(",
        "n + 1 - math.ceil(",
        "test_a_threshold_is_the_least_place_that_covers",
    ),
    slip(SETS, "rule.calibrate - 1]", "rule.calibrate - 2]", ASKED),
    slip(SETS, ".sum(axis=1) >= include", ".sum(axis=1) > include", ASKED),
]
TOP_K = "answers/_topk.py"
TOP_K_RADIUS = "answers/_topk_radius.py"
SLACK = "share + LOG_NDTR_ERROR * abs(most))"
MOST = "most = round_up(log_ndtr(high), LOG_NDTR_ERROR)"
LEAST = "least = round_down(log_ndtr(low), LOG_NDTR_ERROR)"
IN_TOP_K = [
    # one of the two covers what the other is for
    Slip(TOP_K_RADIUS, ((SLACK, "share)"), (MOST, "most = log_ndtr(high)")), MARGIN),
    slip(TOP_K_RADIUS, LEAST, "least = log_ndtr(low)", MARGIN),
    slip(TOP_K_RADIUS, "np.float64)) * (1 - LOG_NDTR_ERROR)", "np.float64))", MARGIN),
    slip(TOP_K, "level = divided(alpha, parts)", "level = alpha / parts", PARTS),
    slip("confidence/bound.py", "else np.nextafter(level, 0.0)", "else level", PARTS),
]
MAPS = "answers/_map_labels.py"
FIRST_GOES_FIRST = "np.logical_and.accumulate(passed[::-1])[::-1]"
IN_MAPS = [
    slip(MAPS, "np.cumsum(many)", "np.maximum(np.cumsum(many) - 1, 1)", HOLM),
    slip(MAPS, "np.cumsum(many)", "np.cumsum(many[::-1])[::-1]", HOLM),
    slip(MAPS, "np.cumsum(many)", "np.ones(len(many))", HOLM),
    slip(MAPS, FIRST_GOES_FIRST, "passed", HOLM),
    slip(MAPS, FIRST_GOES_FIRST, "np.logical_and.accumulate(passed)", HOLM),
    slip(MAPS, FIRST_GOES_FIRST, "np.logical_or.accumulate(passed)", HOLM),
    slip(
        MAPS,
        "np.nextafter(level / left, 0.0)",
        "level / left",
        "test_holms_limits_are_rounded_down",
    ),
]
VALUES = "answers/_values.py"
IN_VALUES = [
    slip(VALUES, "return least + 1", "return least + 2", ENDS),
    slip(VALUES, "place = below - 1 - void", "place = below - void", ENDS),
    slip(VALUES, "place = below - 1 - void", "place = below - 1", ENDS),
    slip(VALUES, "ordered[n - above]", "ordered[n - above - 1]", ENDS),
    slip(VALUES, "above > void", "above > 0", ENDS),
    slip(VALUES, "float(half(checked_alpha(alpha)))", "checked_alpha(alpha)", ENDS),
    slip(VALUES, "_rank(n, level, -float(high))", "_rank(n, level, -float(low))", ENDS),
    slip(VALUES, "level, float(low))", "level, float(high))", ENDS),
]
LISTS = "composite/estimate.py"
IN_LISTS = [
    slip(
        LISTS,
        "divided(procedure.alpha, len(chosen.items))",
        "np.float64(procedure.alpha)",
        "test_a_list_of_two_items_is_wrong_with_probability_alpha_at_most",
    ),
    slip(LISTS, "self._half if halved else self._level", "self._level", STAGES),
    slip(LISTS, "min(others, -lower.z)", "-lower.z", STAGES),
    slip(
        LISTS,
        "self.misses(stage, counts) if failures",
        "counts if failures",
        STAGES,
    ),
    slip(
        LISTS,
        "hits = self.counts(q.stage)[",
        "hits = 1 + self.counts(q.stage)[",
        STAGES,
    ),
    slip(
        LISTS,
        "= self.misses(q.stage, hits)",
        "= 1 + self.misses(q.stage, hits)",
        STAGES,
    ),
    slip(LISTS, "if item < last:", "if item < last - 1:", ORACLE),
    slip(LISTS, "stages), before)", "stages), _Component(np.inf, ''))", ORACLE),
    slip(LISTS, "less(lower.z, upper) / 2.0", "less(lower.z, -lower.z) / 2.0", ORACLE),
    slip(LISTS, "-less(lower, upper) / 2.0", "-less(upper, lower) / 2.0", ORACLE),
    slip(
        LISTS, "stages.of_set(q, above=False)", "stages.of_set(q, above=True)", ORACLE
    ),
    slip(LISTS, "stages.upper(q.stage)[", "-stages.upper(q.stage)[", ORACLE),
]
SLIPS = [*IN_SETS, *IN_TOP_K, *IN_MAPS, *IN_VALUES, *IN_LISTS]


def edited(text: str, edit: Edit) -> str:
    if text.count(edit.before) != 1:
        raise ValueError(
            f"{edit.header} has {text.count(edit.before)} of {edit.before}"
        )
    return text.replace(edit.before, edit.after)


def nudged(text: str, nudge: Nudge) -> str:
    start = text.index(nudge.array)
    for _ in range(nudge.skip + 1):
        start = text.index("static constexpr double ", start + 1)
    places = list(re.finditer(r"-?\d[\d.]*(?:e[-+]?\d+)?", text[start:]))
    first = text.index("= {", start) - start
    place = [p for p in places if p.start() > first][nudge.index]
    value = float(place[0])
    moved = value + nudge.ulps * math.ulp(value)
    return text[: start + place.start()] + repr(moved) + text[start + place.end() :]


def refuting(headers: Path, claims: tuple[str, ...]) -> list[str]:
    """Which of the programs fail on those headers."""
    out = []
    for claim in claims:
        done = subprocess.run(
            [sys.executable, str(Path(__file__).parent), claim],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "RSBOUNDS_HEADERS": str(headers)},
        )
        if done.returncode and "ArithmeticError" in done.stderr:
            out.append(claim)
    return out


def with_change(change: Edit | Nudge, folder: Path) -> Path:
    """A copy of the headers with that error."""
    headers = folder / "headers"
    shutil.rmtree(headers, ignore_errors=True)
    shutil.copytree(HEADERS, headers)
    path = headers / change.header
    text = path.read_text(encoding="utf-8")
    text = edited(text, change) if isinstance(change, Edit) else nudged(text, change)
    path.write_text(text, encoding="utf-8")
    return headers


def ledger_edits() -> list[Edit]:
    """Each constant of the headers halved, each border's number raised a little."""
    from . import test_ledger as ledger

    edits = []
    for name, file, value, *_ in ledger.table("Constants"):
        if file.endswith(".hpp"):
            half = f"{name} = {float(value) / 2!r};"
            edits.append(Edit(file, f"{name} = {value};", half, ()))
    for code, file, *_ in ledger.borders():
        if not file.endswith(".hpp"):
            continue
        places = list(re.finditer(r"(?<![\w.])\d[\d.]*(?:e-?\d+)?", code))
        place = max(places, key=lambda p: p.end() - p.start())
        changed = f"{float(place[0]) * 1.25!r}"
        after = code[: place.start()] + changed + code[place.end() :]
        edits.append(Edit(file, code, after, ()))
    return edits


def refuted_by_ledger(headers: Path) -> bool:
    from . import test_ledger as ledger

    before, ledger.HEADERS = ledger.HEADERS, headers
    try:
        ledger.test_each_constant_is_in_the_ledger_once_with_its_value()
        for row in ledger.borders():
            ledger.test_each_border_stands_in_the_code_once(row)
    except AssertionError:
        return True
    finally:
        ledger.HEADERS = before
    return False


@contextmanager
def slipped(change: Slip) -> Iterator[None]:
    """The module with that error, in this process; its functions stay where they are
    known, and call the ones that are wrong.
    """
    name = "rsbounds." + change.file.removesuffix(".py").replace("/", ".")
    module = importlib.import_module(name)
    text = Path(str(module.__file__)).read_text(encoding="utf-8")
    for before, after in change.changes:
        text = edited(text, Edit(change.file, before, after, ()))
    intact = dict(vars(module))
    try:
        exec(compile(text, str(module.__file__), "exec"), vars(module))
        yield
    finally:
        vars(module).clear()
        vars(module).update(intact)


def refuted_by_test(change: Slip) -> bool:
    file, _, name = change.test.rpartition(":")
    place = TESTS / (file or "proofs/test_exact_levels.py")
    test = runpy.run_path(str(place))[name]
    with warnings.catch_warnings():
        # a wrong level may be one that is warned of: what is asserted must refute it
        warnings.filterwarnings("ignore", "alpha = ")
        test()  # it holds without the error
        with slipped(change):
            try:
                test()
            except AssertionError:
                return True
    return False


def run(names: list[str]) -> int:
    """Try all errors, or those that the named claims must refute; how many survive."""
    survivors = tried = 0
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for change in (*CONSTANTS, *BORDERS, *NUMBERS, *COEFFICIENTS):
            if names and not set(names) & set(change.claims):
                continue
            start, tried = time.perf_counter(), tried + 1
            headers = with_change(change, folder)
            by = refuting(headers, change.claims)
            survived = len(by) < len(change.claims)
            survivors += survived
            what = change.after if isinstance(change, Edit) else change.array
            print(
                f"{change.header}: {what}: "
                f"{'SURVIVED ' + str(change.claims) if survived else ', '.join(by)}, "
                f"{time.perf_counter() - start:.1f} s",
                flush=True,
            )
        for edit in () if names else ledger_edits():
            tried += 1
            path = folder / "headers" / edit.header
            shutil.rmtree(folder / "headers", ignore_errors=True)
            shutil.copytree(HEADERS, folder / "headers")
            text = path.read_text(encoding="utf-8")
            code = re.sub(r"\\? ", lambda _: r"\s+", re.escape(edit.before))
            changed, count = re.subn(code, lambda _, e=edit: e.after, text)
            path.write_text(changed, encoding="utf-8")
            if count != 1 or not refuted_by_ledger(folder / "headers"):
                survivors += 1
                print(f"{edit.header}: {edit.before}: SURVIVED the ledger", flush=True)
                continue
        for change in SLIPS:
            if names and change.test not in names:
                continue
            start, tried = time.perf_counter(), tried + 1
            refuted = refuted_by_test(change)
            survivors += not refuted
            print(
                f"{change.file}: {change.changes[0][1]}: "
                f"{change.test if refuted else 'SURVIVED ' + change.test}, "
                f"{time.perf_counter() - start:.1f} s",
                flush=True,
            )
    print(f"{tried} errors, {survivors} survived")
    return min(survivors, 99)
