"""One fixed Gaussian noise for every input."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from rsbounds import gaussian as theory
from rsbounds._numerics.answered import By
from rsbounds._numerics.domains import DIMENSION, NORM, OPTIONAL_DIMENSION, POSITIVE
from rsbounds._numerics.options import Options, Shared
from rsbounds._numerics.parameters import Parameter, Usual
from rsbounds.certificate import FIXED_NOISE, THIS_INPUT
from rsbounds.gaussian.internal import transport
from rsbounds.noises import Bits
from rsbounds.noises.internal import (
    FARTHEST_NORMAL,
    AddedNoise,
    as_array,
    floating,
    noise_level,
)
from rsbounds.schemes._given import Given
from rsbounds.schemes._scheme import Scheme

__all__ = ["Gaussian", "gaussian", "this_input"]


class Gaussian(Scheme, AddedNoise):
    """One fixed Gaussian noise for every input; see :func:`gaussian`.

    Samplers draw it as they do every x + sigma(x) N(0, I). As a noise itself it is that
    of some columns beside others, or of a parameter that it moves.
    """

    name = "gaussian"
    follows_input = False
    scope = FIXED_NOISE
    self_inverse = True
    help = "one fixed noise level"
    farthest = FARTHEST_NORMAL
    block_parameters = ("sigma",)
    declared = (
        Parameter.level("noise level; several, such as 0.25,0.5, give a file each"),
        Usual.NORM,
        Parameter(
            "dim",
            "numbers of an input",
            OPTIONAL_DIMENSION,
            input=replace(
                Shared.DIM,
                help=f"{Shared.DIM.help}; needed for norms above 2",
                default=None,
            ),
        ),
    )

    def __init__(self, parameters: Mapping[str, Any], **options: Any) -> None:
        super().__init__(parameters, **options)
        self.level = self.own_level

    @property
    def full_law(self) -> str:
        return f"gaussian sigma={self.level!r}"

    @property
    def is_part(self) -> bool:
        """Whether it may be the noise of a group of any number of columns."""
        return self.norm == 2 and self.grid is None

    def checked(self, x: Any) -> NDArray[Any]:
        return floating(as_array(x))

    def offsets(self, shape: tuple[int, ...], bits: Bits) -> Any:
        return noise_level(self.fixed_level()) * bits.normal(shape)

    def transport(
        self, z: Any, radius: Any, sigma: float | None = None
    ) -> tuple[Any, Any]:
        level = self.fixed_level(sigma)
        dim = self.parameters.get("dim")
        return transport(z, radius, level, norm=self.norm, dim=dim)

    @classmethod
    def who_answers(cls, parameters: Mapping[str, Any]) -> dict[str, By]:
        # a norm up to 2 needs no dimension
        needs_dim = parameters.get("norm", 2.0) > 2
        dim = By.DATA if needs_dim else By.WRITER
        return super().who_answers(parameters) | {"dim": dim}

    @classmethod
    def for_inputs(
        cls, parameters: Mapping[str, Any], level: Callable[[Any], Any], dim: int
    ) -> Scheme:
        super().for_inputs(parameters, level, dim)
        norm = parameters.get("norm", 2.0)
        return gaussian(parameters["sigma"], norm=norm, dim=dim)

    @classmethod
    def from_options(cls, options: Options, given: Given) -> Scheme:
        return gaussian(options["sigma"], norm=options["norm"], dim=given.dim)

    @classmethod
    def evaluate(
        cls, options: Options, p_a: float, p_b: float | None, scores: bool
    ) -> Any:
        return theory.radius(
            p_a,
            options["sigma"],
            p_b,
            norm=options.get("norm", 2.0),
            dim=options.get("dim"),
            scores=scores,
        )


def gaussian(sigma: float, *, norm: float = 2.0, dim: float | None = None) -> Scheme:
    """One fixed Gaussian noise for every input.

    Parameters
    ----------
    sigma : float
        Standard deviation of the noise, > 0, in the input's unit.
    norm : float
        The p of the l_p norm that measures the radius, in [1, inf].
    dim : float, optional
        Dimension of the input, >= 1; needed where ``norm`` is above 2.

    Raises
    ------
    ValueError
        If ``sigma`` isn't a positive finite number, or ``norm`` and ``dim`` don't go
        together; with ``dim``, when ``x`` has more coordinates.

    References
    ----------
    Cohen, Rosenfeld, Kolter, Certified adversarial robustness via randomized smoothing,
    2019, Theorem 1.

    Examples
    --------
    >>> from rsbounds import schemes
    >>> float(schemes.gaussian(0.5).radius(2.0, 0.5)) <= 1.0
    True
    """
    parameters: dict[str, Any] = {"sigma": POSITIVE.one("sigma", sigma)}
    norm = NORM.one("norm", norm)
    if norm != 2.0:
        parameters["norm"] = norm
        if dim is not None:
            parameters["dim"] = DIMENSION.one("dim", dim)
        # refuses a norm without its dimension
        Gaussian.evaluate(parameters, 1.0, None, scores=True)
    return Gaussian(parameters)


def this_input(sigma: float) -> Scheme:
    """Gaussian smoothing of one level, with the scope of a level chosen for one input.

    Parameters
    ----------
    sigma : float
        Noise level, > 0, in the input's unit.

    Raises
    ------
    ValueError
        If ``sigma`` isn't a positive finite number.

    Examples
    --------
    >>> from rsbounds.schemes import this_input
    >>> this_input(0.5).scope
    'fixed noise at this input only'
    """
    scheme = gaussian(sigma)
    scheme.scope = THIS_INPUT
    return scheme
