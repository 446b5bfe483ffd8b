"""Noise is added to the input that was given, in its own type: none is rounded first.

At 10^8 numbers of float32 are 8 apart. A model that asks on which side of a border an
input lies has a smoothed classifier whose radius is the distance from the border, so
that the radii of two inputs on both sides can't be more than their distance in sum.
"""

from decimal import Decimal
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from rsbounds import audit, certify_dataset, schemes
from rsbounds._numerics.errors import ArgumentError
from rsbounds.answers import Values
from rsbounds.certify import certify, predict
from rsbounds.loading import open_data, read_table
from rsbounds.noises.internal import floating
from rsbounds.sampling import ArraySampler, as_sampler
from rsbounds.sampling.bits import ArrayBits
from rsbounds.sampling.internal import stream
from rsbounds.sampling.streams import Block
from rsbounds.sampling.torch_draws import copies as torch_copies
from rsbounds.sampling.torch_draws import placed
from rsbounds.sklearn import SmoothedClassifier, SmoothedRegressor
from rsbounds.torch import Adaptive, FixedNoise, Smooth

# numbers far above sigma are what is asked about here
pytestmark = pytest.mark.filterwarnings("ignore:the first input reaches")
BORDER = 100_000_003.0
BELOW, ABOVE = BORDER - 0.1, BORDER + 0.1
SIGMA = 0.5


def sides(batch):
    above = batch.reshape(len(batch), -1)[:, 0] >= BORDER
    return np.stack([~above, above], axis=1).astype(np.float32)


def linear(dtype):
    model = torch.nn.Linear(1, 2).to(dtype)
    model.weight.data = torch.tensor([[0.0], [1.0]], dtype=dtype)
    model.bias.data = torch.tensor([0.0, -BORDER], dtype=dtype)
    return model


class Tensors(torch.nn.Module):
    """A module without parameters."""

    def forward(self, batch):
        return torch.stack([BORDER - batch[:, 0], batch[:, 0] - BORDER], dim=1)


def assert_apart(below, above):
    """The certificates of the two inputs allow for each other."""
    assert (below.predict, above.predict) == (0, 1)
    assert below.radius > 0
    assert above.radius > 0
    assert below.radius + above.radius <= ABOVE - BELOW


def both(model, scheme, as_input=np.array):
    return [
        certify(model, as_input([x]), scheme, n0=1000, n=10_000) for x in (BELOW, ABOVE)
    ]


@pytest.mark.parametrize("as_input", [np.array, list, torch.tensor])
def test_radii_of_a_function_are_about_the_input(as_input):
    if as_input is torch.tensor:
        as_input = torch.DoubleTensor
    assert_apart(*both(sides, schemes.gaussian(SIGMA), as_input))


@pytest.mark.parametrize("model", [linear(torch.float64), Tensors()])
def test_radii_of_a_module_in_float64_are_about_the_input(model):
    assert_apart(*both(model, schemes.gaussian(SIGMA), torch.DoubleTensor))


def certified_by(smooth, x):
    point = torch.DoubleTensor([x])
    label, radius = smooth.certify(point, 1000, 10_000, 0.001, 1000)
    return SimpleNamespace(predict=label, radius=radius)


def test_radii_of_a_smooth_module_are_about_the_input():
    smooth = Smooth(Tensors(), 2, SIGMA, samples=100)
    assert_apart(*[certified_by(smooth, x) for x in (BELOW, ABOVE)])


def test_a_prediction_is_about_the_input():
    sampler = ArraySampler(sides)
    scheme = schemes.gaussian(SIGMA)
    assert [predict(sampler, [x], scheme) for x in (BELOW, ABOVE)] == [0, 1]


@pytest.mark.parametrize("x", [2.0**24 + 1, 2.0**24 + 0.75])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_module_in_a_narrow_type_gets_the_noisy_copy_rounded(x, dtype):
    """Rounded first, the input was another one, and each copy on its side."""
    seen = []

    class Seen(torch.nn.Linear):
        def forward(self, batch):
            seen.append(batch.double().flatten())
            return super().forward(batch)

    model = Seen(1, 2).to(dtype)
    certify(model, np.array([x]), schemes.gaussian(0.5), n0=100, n=4000)
    copies = torch.cat(seen)
    assert set(copies.tolist()) <= set(
        torch.arange(-600.0, 600.0).add(2.0**24).to(dtype).tolist()
    )
    if dtype == torch.float32:
        share = (copies > 2.0**24).double().mean()
        expected = 0.5 if x % 1 == 0 else 0.3085  # that x + Z/2 is above 2^24 + 1
        assert abs(share - expected) < 0.04


FIXED = FixedNoise(torch.zeros(1), torch.full((1,), 0.5))
ADDED = {
    "gaussian": ArraySampler(sides).noise,
    "laplace": schemes.laplace(0.5),
    "uniform": schemes.uniform(0.5),
    "exponential": schemes.exponential(2.0),
    "brightness": schemes.transformed(schemes.gaussian(0.5), "brightness"),
    "shaped": as_sampler(sides, schemes.anisotropic([0.5])).noise,
    "shaped by torch": as_sampler(sides, FIXED.scheme()).noise,
}


def roundings(copies):
    """Those of a copy, of the same draw at 0, and of the product with a shape."""
    return 4 * np.spacing(np.abs(copies).max())


def level(noise):
    return 0.5 if noise.level is None else noise.level


@pytest.mark.parametrize("name", ADDED)
@pytest.mark.parametrize("x", [2.0**25 + 1, 1e8 + 0.3, 0.1])
def test_arrays_are_moved_from_where_they_are(name, x):
    noise = ADDED[name]
    drawn = []
    for point in (0.0, x):
        bits = ArrayBits(np.random.default_rng(0), 50)
        checked = noise.checked(np.array([point]))
        drawn.append(noise.noisy(checked, level(noise), 50, bits))
    zero, moved = drawn
    assert moved.dtype == np.float64
    assert np.abs(moved - zero - x).max() <= roundings(moved)


TENSORS = {name: noise for name, noise in ADDED.items() if "shaped" not in name}
TENSORS["shaped"] = as_sampler(linear(torch.float32), schemes.anisotropic([0.5])).noise
TENSORS["shaped by torch"] = as_sampler(linear(torch.float32), FIXED.scheme()).noise


@pytest.mark.parametrize("name", TENSORS)
@pytest.mark.parametrize("x", [2.0**25 + 1, 1e8 + 0.3, 0.1])
def test_tensors_are_moved_from_where_they_are(name, x):
    noise = TENSORS[name]
    drawn = []
    for point in (0.0, x):
        device = torch.device("cpu")
        checked = placed(noise, noise.checked(np.array([point])), device)
        blocks, _ = torch_copies(
            noise, checked, level(noise), 50, [Block(7, 0)], torch.Generator()
        )
        drawn.append(blocks)
    zero, moved = drawn
    assert moved.dtype == torch.float64
    assert (moved - zero - x).abs().max() <= roundings(moved.numpy())


@pytest.mark.parametrize(
    "noise",
    [
        schemes.mask(2, 1),
        schemes.categorical(0.9, 2**31),
        schemes.deletion(0.1),
        schemes.blocks(
            schemes.gaussian(0.5), schemes.categorical(0.9, 2**31), splits=[1]
        ),
    ],
)
def test_numbers_that_float32_does_not_hold_stay_what_they_are(noise):
    """Two of three neighbours above 2^24 were the same number of float32."""
    x = np.array([2.0**30, 2.0**30 + 1])
    seen = set()
    for _ in range(20):
        bits = ArrayBits(np.random.default_rng(len(seen)), 50)
        batch = noise.noisy(noise.checked(x), level(noise), 50, bits)
        seen |= {float(row[-1]) for row in batch if len(row)}
    assert x[1] in seen
    with pytest.raises(ArgumentError, match="whole numbers"):
        schemes.categorical(0.9, 2**31).checked(x.astype(np.float32) + np.float32(128))


def test_types_of_inputs():
    for dtype in (np.float16, np.float32, ">f4"):
        assert floating(np.array([0.5], dtype)).dtype == np.float32
    for dtype in (np.float64, ">f8", np.longdouble):
        assert floating(np.array([0.5], dtype)).dtype == np.float64
    assert floating([0.1]).tolist() == [0.1]
    assert floating(torch.tensor([0.5], dtype=torch.bfloat16)).dtype == np.float32


FINE = np.nextafter(np.longdouble(1), np.longdouble(2))


@pytest.mark.skipif(np.float64(FINE) == FINE, reason="long doubles are doubles here")
def test_more_digits_than_float64_has_are_refused():
    for noise in ADDED.values():
        with pytest.raises(ArgumentError, match="no rounding is safe"):
            noise.checked(np.array([FINE]))
    with pytest.raises(ArgumentError, match="no rounding is safe"):
        schemes.mask(2, 1).checked([FINE, FINE])
    with pytest.raises(ValueError, match="more digits"):
        open_data((np.array([[FINE]]), [0])).input(0)


@pytest.mark.parametrize("x", [np.array([Decimal("0.1")]), np.array([None])])
def test_objects_are_refused(x):
    with pytest.raises(ValueError, match="got object"):
        certify(sides, x, schemes.gaussian(SIGMA))


def test_data_keep_their_type(tmp_path):
    for dtype, taken in (
        (np.float16, np.float32),
        (np.float32, np.float32),
        (np.float64, np.float64),
        (np.uint8, np.float32),
        (np.int64, np.float64),
    ):
        x = np.array([[3.0, 5.0]]).astype(dtype)
        path = tmp_path / f"{np.dtype(dtype).name}.npz"
        np.savez(path, x=x, y=[0])
        for source in (path, (x, [0])):
            with open_data(source, scale=255) as data:
                assert data.input(0).dtype == taken
                assert (data.input(0) == x.astype(taken) / taken(255)).all()
    with pytest.raises(ValueError, match="more digits"):
        open_data((np.array([[2**53 + 1]]), [0]), scale=1).input(0)


def test_a_scale_is_not_rounded():
    with open_data((np.float32([[1e6, 3.0]]), [0]), scale=0.1) as data:
        assert data.input(0).tolist() == [1e7, 30.0]


def test_columns_of_a_table_are_not_rounded(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(f"a,y\n{BELOW!r},0\n{ABOVE!r},1\n")
    table = read_table(path, "y", units={"a": 1.0})
    assert table.x.ravel().tolist() == [BELOW, ABOVE]
    assert_apart(
        *[
            certify(sides, x, schemes.gaussian(SIGMA), n0=1000, n=10_000)
            for x in table.x
        ]
    )
    import pandas as pd

    frame = pd.DataFrame({"a": [2**53 + 1, 2], "y": [0, 1]})
    with pytest.raises(ValueError, match="no rounding is safe"):
        read_table(frame, "y")


class Side(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.classes_ = np.array([0, 1])
        return self

    def predict(self, X):
        return (X[:, 0] >= BORDER).astype(int)


class Column(RegressorMixin, BaseEstimator):
    def fit(self, X, y):
        self.is_fitted_ = True
        return self

    def predict(self, X):
        return X[:, 0]


def test_estimators_are_certified_at_the_input():
    X = np.array([[BELOW], [ABOVE]])
    smooth = SmoothedClassifier(Side(), SIGMA, n0=1000).fit(X, [0, 1])
    labels, radii = smooth.certify(X)
    assert labels.tolist() == smooth.predict(X).tolist() == [0, 1]
    assert 0 < radii.sum() <= ABOVE - BELOW
    regressor = SmoothedRegressor(Column(), SIGMA, n=1000).fit(X, X[:, 0])
    low, high = regressor.certify(X, 0.0)
    assert ((low < X[:, 0]) & (X[:, 0] < high)).all()
    assert (high - low < 0.5).all()
    with pytest.raises(ArgumentError, match="that float64 holds"):
        smooth.predict(np.array([[2**53 + 1]]))
    with pytest.raises(ArgumentError, match="that float64 holds"):
        smooth.predict(np.array([[Decimal("0.1")]], object))


def test_values_are_about_the_input():
    x = np.array([[BELOW], [ABOVE]])
    answer = Values(schemes.gaussian(SIGMA), [0.1])
    run = certify_dataset(Column().predict, x, answer, n=1000)
    low, high = Values.intervals(run.rows)
    assert ((low[:, 0, 0] < x[:, 0]) & (x[:, 0] < high[:, 0, 0])).all()
    assert (high - low < 0.6).all()


def test_rows_of_float64_are_drawn_again_alike(tmp_path):
    path = tmp_path / "rows.tsv"
    data = np.array([[BELOW], [ABOVE]]), np.array([0, 1])
    certify_dataset(sides, data, schemes.gaussian(SIGMA), n=1000, out=path)
    assert audit.verify(path, data=data, model=sides, rerun=2).findings == ()


def test_the_second_query_is_asked_at_the_input():
    """It is shown to the model beside the first answer, in the model's type."""

    def two(first, second):
        return second[:, :2]

    model = Adaptive(lambda first: torch.ones_like(first), two, sigma=0.5)
    scheme = schemes.two_queries(*model.query_levels, dim=2)
    sampler = as_sampler(model, scheme)
    assert (
        sampler(np.array([0.5, 0.25]), scheme.own_level, 10, stream(0, 0, 1))
        is not None
    )
    with pytest.raises(ArgumentError, match="numbers of float32"):
        sampler(np.array([0.1, 0.2]), scheme.own_level, 10, stream(0, 0, 1))
