"""What every room stands on: checks, rounding on the way in, scores, the bisection,
threads.
"""

import io
import sys

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rsbounds import special
from rsbounds._numerics.checks import as_floats, as_integers, number
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.files import SMALL, content_of
from rsbounds._numerics.progress import Progress
from rsbounds._numerics.rounding import round_down, round_up
from rsbounds._numerics.scores import NDTRI_ERROR, SCORE_LIMIT, ScorePair, score_of
from rsbounds._numerics.search import bisect, mean_power
from rsbounds._numerics.text import abridged
from rsbounds._numerics.threads import apply
from rsbounds.oracle import ndtri

long_double = pytest.mark.skipif(
    np.finfo(np.longdouble).nmant <= 52, reason="long double is float64 here"
)


@long_double
def test_long_doubles_are_rounded_to_the_side_asked_for():
    below_one = np.longdouble(1) - np.longdouble(2) ** -60
    assert as_floats("p", below_one) == 1.0  # to the nearest
    assert as_floats("p", below_one, towards=-np.inf) == 1 - 2.0**-53
    tiny = np.longdouble(2) ** -1080
    assert as_floats("p", tiny, towards=np.inf) == 2.0**-1074
    assert as_floats("p", -tiny, towards=-np.inf) == -(2.0**-1074)


@long_double
@pytest.mark.parametrize("towards", [None, -np.inf, np.inf])
def test_long_doubles_outside_are_refused_though_their_float64_is_inside(towards):
    with pytest.raises(ValueError, match=r"^p must.*1\.0000000000000000009"):
        as_floats(
            "p", np.longdouble(1) + np.longdouble(2) ** -60, 0.0, 1.0, towards=towards
        )
    huge = np.longdouble(10) ** 400
    if towards == -np.inf:
        assert (
            as_floats("s", huge, 0.0, closed="neither", towards=towards)
            == np.finfo(float).max
        )
    else:
        with pytest.raises(ValueError, match=r"^s must"):
            as_floats("s", huge, 0.0, closed="neither", towards=towards)
    with pytest.raises(ValueError, match=r"^s must"):
        as_floats(
            "s", np.longdouble(2) ** -1080, 0.0, closed="neither", towards=-np.inf
        )


@given(st.integers(-(2**63), 2**63 - 1))
def test_whole_numbers_are_rounded_to_the_side_asked_for(n):
    value = np.int64(n)
    assert (
        int(as_floats("n", value, towards=-np.inf))
        <= n
        <= int(as_floats("n", value, towards=np.inf))
    )
    assert int(as_floats("n", value)) == int(float(n))


def test_a_number_is_one_and_finite():
    assert number("x", np.float64(2.0)) == 2.0
    for bad in ([1.0], np.nan, np.inf):
        with pytest.raises(ValueError, match=r"^x must.*finite"):
            number("x", bad)
    with pytest.raises(ValueError, match=r"got float64 np\.float64\(nan\)$"):
        number("x", np.array(np.nan))


def test_what_lies_outside_is_told_so_though_it_must_be_exact():
    for outside in (0, [2**53 + 1, -1]):
        with pytest.raises(ValueError, match=r"^sigma must.*10"):
            as_floats("sigma", outside, 0.0, 10.0, closed="right", exact=True)
    with pytest.raises(ValueError, match=r"^sigma.*float64.*9007199254740993"):
        as_floats("sigma", 2**53 + 1, 0.0, exact=True)


def test_whole_numbers_of_half_precision():
    assert as_integers("n", np.float16(3)) == 3
    assert as_integers("n", np.array([2.0, 60000.0], dtype=np.float16)).tolist() == [
        2,
        60000,
    ]


@given(st.floats(1e-300, 1 - 2.0**-53), st.floats(1e-300, 1 - 2.0**-53))
def test_score_pairs_lie_on_their_safe_sides(p_a, p_b):
    pair = ScorePair.of(p_a, p_b)
    with mp.workdps(40):
        z_a, z_b = ndtri(p_a, dps=40), ndtri(p_b, dps=40)
        for result, true, low, high in (
            (pair.z_a, z_a, -1, 0), (pair.z_b, z_b, 0, 1),
            (score_of("p", p_a), z_a, -1, 1),
        ):  # fmt: skip
            error = 3 * NDTRI_ERROR * abs(true)
            assert low * error <= float(result) - true <= high * error
        assert float(pair.half) <= max(z_a - z_b, 0) / 2


@given(st.floats(1e-300, 1 - 2.0**-53), st.integers(1, 2**20))
def test_the_gap_of_close_probabilities_keeps_its_digits(p_b, steps):
    p_a = min(p_b + steps * float(np.spacing(p_b)), 1 - 2.0**-53)
    result = float(ScorePair.of(p_a, p_b).half)
    with mp.workdps(60):
        true = max(ndtri(p_a, dps=60) - ndtri(p_b, dps=60), 0) / 2
        assert true * (1 - mp.mpf(10) ** -11) <= result <= true


def test_score_pairs_of_one_probability_are_symmetric():
    pair = ScorePair.of([0.3, 0.5, 0.9, 1.0])
    np.testing.assert_array_equal(pair.z_b, -np.asarray(pair.z_a))
    np.testing.assert_array_equal(np.asarray(pair.half) > 0, [False, False, True, True])


def test_limited_pairs_keep_what_is_inside_and_lose_gap_outside():
    pair = ScorePair.of(
        [2.0, 1e9, -1e9, np.inf], [1.0, -1e9, -2e9, 0.0], scores=True
    ).limited()
    np.testing.assert_array_equal(pair.z_a, [2.0, SCORE_LIMIT, -np.inf, np.inf])
    np.testing.assert_array_equal(pair.z_b, [1.0, -SCORE_LIMIT, -SCORE_LIMIT, 0.0])
    np.testing.assert_allclose(pair.half, [0.5, SCORE_LIMIT, 0.0, np.inf], rtol=1e-15)
    close = ScorePair.of(0.3 + 1e-15, 0.3)
    assert (
        close.limited().half == close.half
    )  # formed from the probabilities, not from z_a - z_b


def test_bisection_ends_between_two_neighbouring_numbers():
    calls = []

    def accepted(x):
        calls.append(x)
        return np.asarray(x * x >= 2)

    root = bisect(np.asarray(40.0), np.asarray(0.0), accepted, steps=2000)
    assert root**2 >= 2 > np.nextafter(root, 0) ** 2
    assert len(calls) < 80


def test_bisection_returns_accepted_points_alone():
    goal = np.array([0.3, 1e-200, 0.0])
    result = bisect(
        np.full(3, 1e-250), np.ones(3), lambda x: x <= goal, middle=mean_power
    )
    assert result[0] == pytest.approx(0.3, rel=1e-12)
    assert result[1] == pytest.approx(1e-200, rel=1e-12)
    assert np.all(result[:2] <= goal[:2])
    assert result[2] == 1e-250  # nothing accepted: where it began
    wide = bisect(np.zeros(1), np.ones(1), lambda x: x <= 0.3, within=0.1)
    assert 0.27 <= wide[0] <= 0.3


@pytest.mark.parametrize(
    "size", [12, 60_000]
)  # the larger one would be cut into pieces
def test_masks_are_kept_at_every_size(size):
    mask = np.arange(size) % 3 == 0
    result = special.ndtri(np.ma.masked_array(np.linspace(0.1, 0.9, size), mask=mask))
    assert isinstance(result, np.ma.MaskedArray)
    np.testing.assert_array_equal(np.ma.getmaskarray(result), mask)


def test_threads_change_no_bit():
    x = np.linspace(-30.0, 30.0, 50_000)
    whole = apply(np.exp, x, cost=0.0)
    np.testing.assert_array_equal(apply(np.exp, x, cost=10.0), whole)


@given(st.floats(allow_nan=False), st.one_of(st.floats(0, 1), st.just(2.0**-52)))
def test_one_number_is_rounded_as_an_array_is(value, error):
    for rounded in (round_down, round_up):
        one, many = rounded(value, error), rounded(np.array([value]), error)[0]
        assert type(one) is np.float64
        assert one == many
        assert np.signbit(one) == np.signbit(many) or value != 0


def test_hashes_in_messages_are_short():
    whole = "0123456789abcdef" * 4
    assert abridged(f"was {whole}, now 'x'") == "was 0123456789ab..., now 'x'"
    assert abridged(whole[:-1]) == whole[:-1]


class NotebookStream(io.StringIO):
    """What a kernel has for standard error, by the name of its module."""

    __module__ = "ipykernel.iostream"


@pytest.mark.parametrize("stream", [NotebookStream, io.StringIO])
def test_a_notebook_without_widgets_has_a_bar_of_text(stream, monkeypatch):
    """There was none in the first minute: a kernel's stream is no terminal."""
    monkeypatch.setattr("sys.stderr", stream())
    assert list(Progress(2, "input").over("ab")) == ["a", "b"]
    assert ("100%" in sys.stderr.getvalue()) == (stream is NotebookStream)


def test_files_have_a_limit(tmp_path):
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.truncate(SMALL + 1)
    with pytest.raises(ValueError, match="67108864"):
        content_of(path)


def test_integers_beyond_64_bits_are_numbers_like_others():
    big = 2**64 + 1
    assert as_floats("x", big) == 2.0**64
    assert as_floats("x", [big, 0.5]).tolist() == [2.0**64, 0.5]
    assert as_floats("x", [big, 1], towards=np.inf)[0] == np.nextafter(2.0**64, np.inf)
    assert as_floats("x", [-big, 1], towards=np.inf)[0] == -(2.0**64)
    with pytest.raises(ArgumentError, match=r"^x must be float64 numbers"):
        as_floats("x", [big, 1], exact=True)
    with pytest.raises(ArgumentError, match=r"^x must be in \[0, 10\].*first 18446"):
        as_floats("x", [big, 1], 0, 10)
    for value in (big, [big, 1]):
        with pytest.raises(ArgumentError, match=r"^k must be < 2\^63; got .*18446744"):
            as_integers("k", value)
        with pytest.raises(ArgumentError, match=r"^k must be >= 0; got .*-18446744"):
            as_integers("k", -big if value == big else [-big, 1])


@pytest.mark.parametrize("check", [as_floats, as_integers])
def test_errors_about_any_value_are_one_short_line(check):
    pandas = pytest.importorskip("pandas")
    column = pandas.Series(["a", "b"])
    for value in (column, 10**400, [10**400], column.to_frame(), "a\nb"):
        with pytest.raises(ArgumentError) as caught:
            check("k", value)
        assert "\n" not in str(caught.value)
        assert len(str(caught.value)) < 140


def test_no_advice_is_given_that_is_then_refused():
    masked = np.ma.masked_array([1, 2], mask=[False, True])
    with pytest.raises(ArgumentError, match="fill them, with NaN"):
        as_floats("x", masked)
    as_floats("x", masked.astype(float).filled(np.nan))
    pandas = pytest.importorskip("pandas")
    missing = pandas.Series([1, None], dtype="Int64")
    for value in (masked, missing, missing.array):
        with pytest.raises(ArgumentError, match="leave them out"):
            as_integers("k", value)
        with pytest.raises(ArgumentError, match="leave them out"):
            as_floats("x", value, nan=False)


def test_a_tensor_with_a_gradient_is_refused_by_its_argument():
    """PyTorch's own RuntimeError came out of every function that takes numbers."""
    torch = pytest.importorskip("torch")
    for value in (
        torch.ones(2, requires_grad=True),
        torch.ones((), requires_grad=True),
    ):
        with pytest.raises(ArgumentError, match="x must be plain numbers, detached"):
            as_floats("x", value)
        with pytest.raises(ArgumentError, match="k must be plain numbers, detached"):
            as_integers("k", value)
        with pytest.raises(ArgumentError, match="z must be plain numbers, detached"):
            special.ndtr(value)
    assert as_floats("x", torch.ones(2)).tolist() == [1, 1]
    with pytest.raises(ArgumentError, match="k must be plain numbers, detached"):
        as_integers("k", torch.ones(2, device="meta"))
