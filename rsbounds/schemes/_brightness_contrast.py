"""Brightness and contrast that an attack changes together.

References
----------
The theory page "Noise in a parameter", brightness and contrast together.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds import gaussian as theory
from rsbounds._numerics.domains import NOT_NEGATIVE, POSITIVE, Domain, require
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.options import Option, Options
from rsbounds._numerics.parameters import Parameter
from rsbounds.certificate import PARAMETER
from rsbounds.noises import Bits
from rsbounds.noises.internal import (
    FARTHEST_NORMAL,
    checked_scores,
    floating,
    noise_level,
)
from rsbounds.schemes._drawn import DrawnScheme
from rsbounds.schemes._given import Given
from rsbounds.schemes._scheme import Scheme
from rsbounds.transforms import TRANSFORMS, column
from rsbounds.transforms.internal import largest_level

__all__ = ["BrightnessContrast", "brightness_contrast"]


class BrightnessContrast(DrawnScheme):
    """Noise in brightness and contrast; see :func:`brightness_contrast`."""

    name = "brightness-contrast"
    follows_input = False
    scope = PARAMETER
    norm = "brightness"
    columns = ("frontier",)
    frontier_kinds = ("brightness", "contrast")
    help = "noise in brightness and contrast, certified against both together"
    declared = (
        Parameter.asked(
            "noise level of the brightness",
            POSITIVE,
            Option("sigma_brightness", "noise level of the brightness"),
        ),
        Parameter.asked(
            "that of the contrast's logarithm",
            Domain(0.0, 2.0, "right"),
            Option("sigma_contrast", "noise level of the logarithm of the contrast"),
        ),
        Parameter.asked(
            "the contrasts that radii hold for",
            NOT_NEGATIVE,
            Option(
                "contrast",
                "radii hold for every contrast in [-C, C], in logarithms (0)",
                default=0.0,
                metavar="C",
            ),
        ),
    )

    def read(self) -> None:
        require(self.domains, self.parameters)
        if self.parameters["contrast"]:
            self.norm = "brightness-contrast"
        brightness, contrast = (
            self.parameters[name] for name in ("sigma_brightness", "sigma_contrast")
        )
        self.level = noise_level(brightness, "sigma_brightness")
        most = largest_level(TRANSFORMS["brightness"], FARTHEST_NORMAL)
        if not self.level <= most:
            problem = f"must be at most {most:g}, for float32; got {brightness}"
            raise ArgumentError("sigma_brightness", problem)
        self.law = f"brightness of sigma={brightness!r}, contrast of sigma={contrast!r}"

    def checked(self, x: Any) -> NDArray[Any]:
        return floating(x)

    def noisy(self, x: Any, sigma: float, size: int, bits: Bits) -> Any:
        contrast = self.parameters["sigma_contrast"]
        with np.errstate(over="ignore", under="ignore"):
            k = bits.like(contrast * bits.normal((size,)), x)
            b = bits.like(self.level * bits.normal((size,)), x)
            return column(bits.xp.exp(k), x) * x + column(b, x)

    def radius(
        self,
        z_a: float,
        sigma: float,
        z_b: float | None = None,
        *,
        contrast: float | None = None,
    ) -> float:
        """The largest brightness for every contrast in [-contrast, contrast].

        By default that of the parameters.
        """
        self.fixed_level(sigma)
        if contrast is None:
            return self.radius_of_scores(z_a, z_b)
        asked = {"contrast": NOT_NEGATIVE.one("contrast", contrast)}
        return self._radius_at({**self.parameters, **asked}, z_a, z_b)

    def radius_of_scores(self, z_a: float, z_b: float | None = None) -> float:
        return self._radius_at(self.parameters, z_a, z_b)

    def _radius_at(
        self, parameters: Mapping[str, Any], z_a: float, z_b: float | None
    ) -> float:
        first, second = checked_scores(z_a, z_b)
        return float(self.evaluate(parameters, first, second, scores=True))

    def further(self, z_a: float, z_b: float) -> dict[str, str]:
        """The largest brightness for contrasts up to 0, 1, 2, ... levels of theirs.

        ``1.4,0.0;1.3,0.4`` are 1.4 at the contrast 0 and 1.3 up to 0.4; "-" where
        nothing is certified.
        """
        levels = [
            self.parameters[name] for name in ("sigma_brightness", "sigma_contrast")
        ]
        return {"frontier": _frontier(*levels, float(z_a), float(z_b))}

    @classmethod
    def from_options(cls, options: Options, given: Given) -> Scheme:
        return brightness_contrast(
            options["sigma_brightness"],
            options["sigma_contrast"],
            contrast=options["contrast"],
        )

    @classmethod
    def evaluate(
        cls, options: Options, p_a: float, p_b: float | None, scores: bool
    ) -> Any:
        return theory.brightness_radius(
            p_a,
            options["sigma_brightness"],
            options["sigma_contrast"],
            p_b,
            contrast=options["contrast"],
            scores=scores,
        )


@lru_cache(maxsize=4096)
def _frontier(sigma: float, sigma_contrast: float, z_a: float, z_b: float) -> str:
    """Pairs of a brightness and a contrast, as text: many inputs share their scores."""
    if not z_a > z_b:
        return "-"
    # contrast alone leaves a lead up to half the sum of the scores, which count up to 8
    steps = min(int((min(z_a, 8.0) - max(z_b, -8.0)) / 2), 8)
    contrasts = sigma_contrast * np.arange(steps + 1)
    radii = np.asarray(
        theory.brightness_radius(
            z_a, sigma, sigma_contrast, z_b, contrast=contrasts, scores=True
        )
    )
    pairs = zip(radii.tolist(), contrasts.tolist(), strict=True)
    return ";".join(f"{r!r},{contrast!r}" for r, contrast in pairs if r > 0) or "-"


def brightness_contrast(
    sigma_brightness: float, sigma_contrast: float, *, contrast: float = 0.0
) -> BrightnessContrast:
    r"""Noise in brightness and contrast, certified against both changed together.

    Copies are e^k x + b with k ~ N(0, sigma_contrast^2), b ~ N(0, sigma_brightness^2).
    The radius bounds \|beta\| of every change e^kappa x + beta whose \|kappa\| is
    at most ``contrast``: the class stays the same. These changes don't commute, and
    the bound is that of their own law, not a chain of one for each: see
    :func:`rsbounds.gaussian.brightness_radius`, which gives the whole frontier.

    Parameters
    ----------
    sigma_brightness : float
        Noise level of b, > 0, in the unit of the numbers.
    sigma_contrast : float
        Noise level of k, in (0, 2].
    contrast : float
        The contrasts, as logarithms, that every radius allows for, >= 0.

    Raises
    ------
    ValueError
        If an argument is out of its domain.

    Examples
    --------
    >>> from rsbounds import schemes
    >>> scheme = schemes.brightness_contrast(0.4, 0.4)
    >>> [round(scheme.radius(3.8, 0.4, contrast=c), 3) for c in (0.0, 0.4)]
    [1.459, 1.404]
    """
    return BrightnessContrast(
        {
            "sigma_brightness": POSITIVE.one("sigma_brightness", sigma_brightness),
            "sigma_contrast": BrightnessContrast.domains["sigma_contrast"].one(
                "sigma_contrast", sigma_contrast
            ),
            "contrast": NOT_NEGATIVE.one("contrast", contrast),
        }
    )
