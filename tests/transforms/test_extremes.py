"""Transformations at the largest accepted level, at the farthest draws of it."""

import itertools
import math

import numpy as np
import pytest

from rsbounds import schemes
from rsbounds._numerics.errors import ArgumentError
from rsbounds.certify import certify
from rsbounds.noises.internal import FARTHEST_NORMAL
from rsbounds.sampling import as_sampler
from rsbounds.sampling.bits import ArrayBits
from rsbounds.transforms import TRANSFORMS, Transform, column
from rsbounds.transforms.internal import largest_level

torch = pytest.importorskip("torch")
from rsbounds.sampling.torch_bits import TorchBits  # noqa: E402

MOVING = [name for name in TRANSFORMS if isinstance(TRANSFORMS[name], Transform)]
#: Each law as a function of its level, its parameter's name, and its farthest draw.
LAWS = {
    "gaussian": (schemes.gaussian, "sigma", FARTHEST_NORMAL),
    "laplace": (schemes.laplace, "sigma", 52 * math.log(2)),
    "uniform": (schemes.uniform, "sigma", 1.0),
    "exponential": (
        lambda level: schemes.exponential((1 + 1e-15) / level),
        "rate",
        36.1,
    ),
}
PAIRS = [
    (name, law)
    for name, law in itertools.product(MOVING, LAWS)
    if not TRANSFORMS[name].one_sided or law == "exponential"
]
#: What 53 random bits give at their ends, in the middle, and beside them.
UNIFORM = np.array([0.0, 2.0**-53, 0.25, 0.5, 0.75, 1 - 2.0**-52, 1 - 2.0**-53])
NORMAL = FARTHEST_NORMAL * np.array([-1, -0.5, -1e-3, 0, 1e-3, 0.5, 1])
PLAIN = np.array([[0.0, 1.0, 0.5], [2.0**-20, 1 - 2.0**-20, 0.1], [0.9, 0.3, 0.7]])
INPUTS = dict.fromkeys(MOVING, PLAIN)
INPUTS["contrast"] = INPUTS["gain"] = INPUTS["brightness"] = PLAIN - 0.5


class FarBits(ArrayBits):
    """The farthest numbers that random bits give."""

    def uniform(self, shape):
        return UNIFORM.copy().reshape(shape)

    def normal(self, shape):
        return NORMAL.copy().reshape(shape)


class FarTensors(TorchBits):
    def uniform(self, shape):
        return torch.from_numpy(UNIFORM.copy()).reshape(shape)

    def normal(self, shape):
        return torch.from_numpy(NORMAL.copy()).reshape(shape)


def scheme_of(name, law, factor=1.0):
    make, _, farthest = LAWS[law]
    level = largest_level(TRANSFORMS[name], {"laplace": 36.1}.get(law, farthest))
    return schemes.transformed(make(factor * level), name)


def copies_of(scheme, x, framework):
    size = len(UNIFORM)
    if framework == "numpy":
        bits, point = FarBits(None, size), scheme.checked(x)
    else:
        bits = FarTensors(torch.Generator(), size, torch.device("cpu"))
        point = torch.from_numpy(scheme.checked(x))
    copies = scheme.noisy(point, scheme.fixed_level(), size, bits)
    a = bits.like(scheme.scheme.offsets((size, 1), bits), point)
    return np.asarray(copies), np.asarray(a)


def exactly(name, x, a):
    """T_a x in long doubles, from the formula alone."""
    x = x.astype(np.longdouble)
    a = a.astype(np.longdouble).reshape(-1, 1, 1)
    if name == "brightness":
        return x + a
    if name == "contrast":
        return np.exp(a) * x
    if name == "gain":
        return np.longdouble(10) ** (a / 20) * x
    if name == "gamma":
        return x ** np.exp(a)
    if name == "rotation-z":
        first, second, third = x.T
        a = a[..., 0]
        cos, sin = np.cos(a), np.sin(a)
        turned = cos * first - sin * second, sin * first + cos * second, third + 0 * a
        return np.stack(turned, axis=-1)
    steps = np.arange(3, dtype=np.longdouble)
    basis = np.cos(np.pi * steps[:, None] * (steps + 0.5) / 3) * np.sqrt(2 / 3)
    basis[0] = np.sqrt(np.longdouble(1) / 3)
    squares = (np.pi * steps / 3) ** 2
    damping = np.exp(-a * (squares[:, None] + squares))
    return basis.T @ (damping * (basis @ x @ basis.T)) @ basis


def tolerance(name, expected, a, eps):
    """What roundings explain: of few operations, of an exponent, of its exponential."""
    least = np.finfo(np.float32 if eps > 1e-10 else np.float64).smallest_subnormal
    size = np.abs(a).reshape(-1, 1, 1)
    if name in ("blur", "rotation-z"):  # sums of terms of size 1
        return 16 * eps
    if name == "gamma":  # an error of the power is multiplied by the logarithm
        logs = np.log(np.maximum(np.abs(expected), least))
        return np.abs(expected) * eps * (4 + 4 * np.abs(logs)) + 2 * least
    grows = 2 * size if name == "gain" else 4  # its exponent is a rounded product
    return np.abs(expected) * eps * (4 + grows) + 2 * least


@pytest.mark.parametrize("framework", ["numpy", "torch"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("name", "law"), PAIRS)
def test_copies_at_the_farthest_draws_are_right(name, law, dtype, framework):
    """e^a overflowed, and 0 times that was no number; e^-a was 0, and 0^0 is 1."""
    x = INPUTS[name].astype(dtype)
    copies, a = copies_of(scheme_of(name, law), x, framework)
    assert copies.dtype == a.dtype == dtype
    assert np.isfinite(copies).all()
    expected = exactly(name, x, a)
    apart = np.abs(copies - expected)
    assert (apart <= tolerance(name, expected, a, np.finfo(dtype).eps)).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("name", "law"), PAIRS)
def test_two_steps_are_one_at_the_farthest_draws(name, law, dtype):
    """Half a draw and half of it again are the draw; back and forth are the input.

    Gamma alone does not come back: what is rounded to 0 or to 1 on the way is lost.
    """
    transform = TRANSFORMS[name]
    x = INPUTS[name].astype(dtype)
    _, a = copies_of(scheme_of(name, law), x, "numpy")
    for step in a:
        ways = [(step / 2, step / 2)]
        if name not in ("blur", "gamma", "brightness"):
            ways.append((step, -step))
        for first, second in ways:
            (between,) = transform.apply(x, first[None], np)
            (by_steps,) = transform.apply(between, second[None], np)
            (at_once,) = transform.apply(x, (first + second)[None], np)
            assert np.isfinite(between).all()
            grows = 0 if name in ("brightness", "blur") else np.abs(step)
            bound = np.finfo(dtype).eps * (16 + 8 * grows)
            if name == "rotation-z":
                assert (np.abs(by_steps - at_once) <= 4 * bound).all()
            elif name == "gamma":
                assert (np.abs(by_steps - at_once) <= bound).all()
            else:
                largest = np.abs(at_once).max()
                assert (np.abs(by_steps - at_once) <= bound * largest).all()


@pytest.mark.parametrize(("name", "law"), PAIRS)
def test_levels_beyond_are_refused_with_the_largest(name, law):
    parameter = LAWS[law][1]
    with pytest.raises(ArgumentError, match=rf"at (most|least) .* for {name}") as error:
        scheme_of(name, law, factor=1.01)
    assert error.value.name == parameter
    bound = float(str(error.value).split(" for ")[0].split()[-1])
    make = schemes.exponential if law == "exponential" else LAWS[law][0]
    assert schemes.transformed(make(bound), name).norm
    stated = {"law": {"method": law, parameter: bound}, "transform": name}
    schemes.Transformed.check(stated)
    stated["law"][parameter] = bound * (0.9 if parameter == "rate" else 1.1)
    with pytest.raises(ArgumentError, match=f"for {name}"):
        schemes.Transformed.check(stated)


def test_brightness_and_contrast_together_are_finite():
    with pytest.raises(ArgumentError, match=r"must be at most 6\.91e") as error:
        schemes.brightness_contrast(1e38, 2.0)
    assert error.value.name == "sigma_brightness"
    noise = schemes.brightness_contrast(6.9e36, 2.0)
    for dtype in (np.float32, np.float64):
        x = np.array([0.0, 1.0, -1.0], dtype)
        copies = noise.noisy(x, noise.level, len(NORMAL), FarBits(None, len(NORMAL)))
        assert copies.dtype == dtype
        assert np.isfinite(copies).all()


class Warmer(Transform):
    """One of another package, which does not say how far it goes."""

    name = "warmer"
    formula = "e^a x"

    def apply(self, x, a, xp):
        return xp.exp(column(a, x)) * x


def test_another_packages_transformation_is_tried_at_the_farthest_draw():
    def model(batch):
        return np.stack([batch[:, 0], -batch[:, 0]], axis=1)

    x = np.array([0.0, 1.0], np.float32)
    for level, fine in ((7.0, True), (7.3, False)):
        scheme = schemes.transformed(schemes.gaussian(level), Warmer())
        if fine:
            certify(as_sampler(model, scheme), x, scheme, n=100)
            continue
        with pytest.raises(ArgumentError, match="smaller level"):
            certify(as_sampler(model, scheme), x, scheme, n=100)


def test_no_normal_number_is_farther_than_stated():
    """The tail of NumPy's ziggurat, by the words that give its farthest number."""
    last = np.float64(53 * math.log(2))
    rest = math.ceil(2**53 * math.exp(-3.6541528853610088 * math.sqrt(2 * last)))
    farthest = drawn_from([words(2**64 - 2**8), double(2**53 - rest - 1), LAST])
    assert 12.2 < abs(farthest) <= FARTHEST_NORMAL
    # one step on its square is too large for any second number: it is drawn again
    again = [words(2**64 - 2**8), double(2**53 - rest // 2), LAST, double(0), LAST]
    assert abs(drawn_from(again)) < 3.7


def words(number):
    """The two words of 32 bits that a number of 64 is read from."""
    return [number >> 32, number % 2**32]


def double(number):
    """The two words that number/2^53 is read from."""
    return [number >> 26 << 5, number % 2**26 << 6]


LAST = double(2**53 - 1)


def drawn_from(pairs):
    """A normal number of a Mersenne twister whose next words are these."""
    generator = np.random.MT19937(0)
    state = generator.state
    key = state["state"]["key"]
    flat = [word for pair in pairs for word in pair]
    key[: len(flat)] = [untempered(word) for word in flat]
    state["state"]["pos"] = 0
    generator.state = state
    return np.random.Generator(generator).standard_normal()


def untempered(word):
    """What the twister's last step makes this word of."""
    word ^= word >> 18
    word ^= word << 15 & 0xEFC60000
    result = word
    for _ in range(5):
        result = word ^ (result << 7 & 0x9D2C5680)
    word = result & 0xFFFFFFFF
    result = word
    for _ in range(3):
        result = word ^ (result >> 11)
    return result
