"""What a scheme and a method are, and what all of them share."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from inspect import Parameter, signature
from typing import Any, NamedTuple, Protocol

import numpy as np

from rsbounds._numerics.checks import real
from rsbounds._numerics.rounding import EPS, SMALLEST
from rsbounds.certificate import ASSERTED_ENVELOPE, PROVEN


@dataclass(frozen=True)
class Scheme:
    """A smoothing scheme.

    Parameters
    ----------
    method : str
        Its name in result files.
    scope : str
        For which classifier its certificates hold.
    sigma : callable
        ``sigma(x)``: the noise level (> 0) at one input ``x``.
    radius : callable
        ``radius(score, sigma, score_b=None)``: the certified radius for a lower bound of the top
        class's probability, given as a normal score, the noise level at the input, and an upper
        bound of every other class's probability as a score (None: that of 1 - p_a). One of two
        arguments serves too, and takes no notice of the runner-up.
    parameters : mapping
        What a result file must say for the radii to be computed again.
    norm : float
        The p of the l_p norm that measures the radius.
    sampler : callable, optional
        ``sampler(model, **options)``: counts a model's classes under the scheme's noise where
        that isn't x + sigma(x) N(0, I); ``options`` are those of
        :class:`rsbounds.torch.TorchSampler`.
    law : str
        That noise by a name of its own, which its samplers bear too: with others nothing is
        certified.
    sound : bool
        Whether the radius allows for the rounding of ``sigma(x)``, as sound noise asks for: the
        certificate is then one of the program, for inputs on the grid.

    Examples
    --------
    >>> from rsbounds import schemes
    >>> scheme = schemes.gaussian(0.5)
    >>> scheme.sigma(None), scheme.scope
    (0.5, 'fixed noise')
    """

    method: str
    scope: str
    sigma: Callable[[Any], float]
    radius: Callable[..., float]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    norm: float = 2.0
    sampler: Callable[..., Any] | None = None
    law: str = ""
    sound: bool = False

    def __post_init__(self) -> None:
        if not _takes_three(self.radius):
            object.__setattr__(self, "radius", partial(_alone, self.radius))
        object.__setattr__(self, "norm", float(self.norm))  # rows spell it one way


def _takes_three(radius: Callable[..., float]) -> bool:
    try:
        signature(radius).bind(0.0, 0.0, 0.0)
    except TypeError:
        return False
    except ValueError:  # a builtin says nothing of its arguments
        return True
    return True


def _alone(
    radius: Callable[..., float], score: float, sigma: float, score_b: float | None = None
) -> float:
    """What a radius that knows p_a alone certifies: p_b is at most 1 - p_a."""
    return radius(score, sigma) if score > 0 else 0.0


class Domain(NamedTuple):
    """Where a parameter lies: low to high, and which ends belong to it."""

    low: float
    high: float
    closed: str = "both"

    def one(self, name: str, value: Any) -> float:
        """``value`` as one number of the domain, or ValueError."""
        array = real(name, value, self.low, self.high, closed=self.closed, nan=False)
        if array.size != 1:
            raise ValueError(f"{name} must be one number; got shape {array.shape}")
        return float(array.item())


POSITIVE = Domain(0.0, math.inf, "neither")
NOT_NEGATIVE = Domain(0.0, math.inf, "left")
DIMENSION = Domain(1.0, 1e8)
NORM = Domain(1.0, math.inf)
RADIUS = Domain(0.0, math.inf)


@dataclass(frozen=True)
class Option:
    """One option of the command line; ``default`` is ... where it must be given."""

    flag: str
    help: str
    type: Callable[[str], Any] = float
    default: Any = ...
    metavar: str | None = None
    choices: tuple[str, ...] | None = None
    nargs: str | None = None

    @property
    def name(self) -> str:
        """The option as an attribute."""
        return self.flag.lstrip("-").replace("-", "_")


NORM_OPTION = Option("--norm", "the p of the l_p norm (2; inf is allowed)", default=2.0)


class Given(Protocol):
    """What the command line can get for a scheme: the size of an input, files, functions.

    ``sound`` asks for a scheme that is sound.
    """

    dim: int
    sound: bool

    def inputs(self, path: Any) -> tuple[Any, str]:
        """The array ``x`` of an npz file, flattened to (count, dim), and the file's hash."""
        ...

    def function(self, option: str, spec: str) -> tuple[Any, Any]:
        """What ``MODULE:CALLABLE`` builds, and its description for the manifest.

        A function of one input; a ``SigmaNetwork`` as an object whose ``scheme(dim, sound=...)``
        proves it. Nothing else has a ``scheme``.
        """
        ...

    def noise(self, option: str, spec: str) -> tuple[Any, Any]:
        """Noise of a shape that ``MODULE:CALLABLE`` builds, and its description.

        An object whose ``scheme(norm, sound=...)`` rests on the proof of its own kind.
        """
        ...


@dataclass(frozen=True)
class Method:
    """A kind of scheme, by its name in result files and on the command line.

    Parameters
    ----------
    name, scope : str
        Its name, and for which classifier its certificates hold; where they rest on bounds of
        sigma(x), if these are proven.
    radius : callable
        ``radius(score, sigma, score_b, **parameters)``: the radius as a function of the logged
        evidence and of ``parameters`` alone, so that it can be computed again from a file.
    parameters : mapping
        Names and domains of these parameters; those with a default in ``radius`` may be missing.
        ``sigma`` among them is that of every row.
    help : str
        A line for the command line.
    options : tuple of Option
        What ``rsbounds certify --method`` needs to construct it; empty: not from there.
    build : callable, optional
        ``build(options, given)`` constructs it, ``options`` by name.
    inputs : tuple of Option
        What ``rsbounds radius`` needs besides the evidence; empty: not from there.
    evaluate : callable, optional
        ``evaluate(options, p_a, p_b, scores)``: that radius.
    sound : bool
        Whether nothing of its certificates rests on how ``sigma(x)`` is rounded; otherwise a
        scheme is sound whose parameters hold a ``slack``.
    """

    name: str
    scope: str
    radius: Callable[..., float]
    parameters: Mapping[str, Domain]
    help: str = ""
    options: tuple[Option, ...] = ()
    build: Callable[[Mapping[str, Any], Given], Scheme] | None = None
    inputs: tuple[Option, ...] = ()
    evaluate: Callable[..., Any] | None = None
    sound: bool = False

    @property
    def required(self) -> set[str]:
        """Parameters that a manifest can't do without."""
        known = signature(self.radius).parameters
        return {k for k in self.parameters if k not in known or known[k].default is Parameter.empty}

    def scheme(
        self,
        sigma: Callable[[Any], float],
        parameters: Mapping[str, Any],
        norm: float = 2.0,
        *,
        proven: bool = False,
    ) -> Scheme:
        """The scheme of this method with these parameters.

        ``proven``: whoever calls has proven the bounds of sigma(x) that are among them.
        """
        if not isinstance(proven, bool):
            raise ValueError(f"proven must be True or False; got {proven!r}")
        scope = ASSERTED_ENVELOPE if self.scope in PROVEN and not proven else self.scope
        sound = self.sound or "slack" in parameters
        return Scheme(self.name, scope, sigma, self.of(parameters), parameters, norm, sound=sound)

    def of(self, parameters: Mapping[str, Any]) -> Callable[..., float]:
        """``radius(score, sigma, score_b)`` with the parameters of a scheme or of a manifest."""
        known = {k: parameters[k] for k in self.parameters if k in parameters and k != "sigma"}
        return partial(self.radius, **known)


def check_size(x: Any, dim: float) -> None:
    """ValueError where ``x`` has more coordinates than the dimension that is certified."""
    size = math.prod(np.shape(x))
    if not size <= dim:
        raise ValueError(f"dim must be at least the size of the input, {size}; got {dim}")


def level_slack(rounding: float, floor: float) -> float:
    """What the logarithms of two computed levels may differ by beyond a Lipschitz envelope.

    Parameters
    ----------
    rounding : float
        A proven bound of the error of each level, in [0, floor/4].
    floor : float
        What every computed level is at least, > 0.

    Returns
    -------
    float
        -log(1 - 2 rounding/floor), rounded up: at the floor just enough for both errors.

    Raises
    ------
    ValueError
        A rounding that is not in [0, floor/4].

    References
    ----------
    The theory page on sound noise.

    Examples
    --------
    >>> from rsbounds.schemes import level_slack
    >>> f"{level_slack(1e-12, 0.25):.3e}"
    '8.000e-12'
    """
    real("rounding", rounding, 0, floor / 4, nan=False)
    return -math.log1p(-2 * rounding / floor) * (1 + 16 * EPS) + SMALLEST


def widened_radius(
    score: float, sigma: float, score_b: float | None, envelope: Any, dim: float, slack: float
) -> float:
    """The radius under an envelope that two computed levels leave by exp(slack) at most."""
    from rsbounds.envelope import Widened, radius

    bounds = Widened(envelope, slack) if slack else envelope
    return float(radius(score, sigma, bounds, dim, score_b, scores=True))
