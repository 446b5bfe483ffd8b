"""What stands in front of a torch network: its normalisation, and a denoiser.

A diffusion model's noisy image at timestep t is y = a x + b N(0, I) with a^2 =
alphas_cumprod[t] and a^2 + b^2 = 1, for x in [-1, 1]. Noise of level sigma on pixels in
[0, 1] is noise of level 2 sigma there, so that t is the one with b/a = 2 sigma. The
classifier that is smoothed is the composition: a function of the noisy input alone,
with one fixed timestep. The sampler draws the noise, at exactly the level that is
certified; that the schedule has no timestep of exactly this level costs accuracy and
never soundness.

Salman et al., Denoised smoothing, NeurIPS 2020; Carlini et al., (Certified!!)
adversarial robustness for free!, ICLR 2023.
"""

from __future__ import annotations

from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import as_floats, choice
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.text import shown
from rsbounds.frameworks import scores_in
from rsbounds.loading._hf import located, reachable
from rsbounds.loading._loaded import Loaded, span
from rsbounds.loading.callables import call, fingerprint, guarded, naming
from rsbounds.loading.packages import need
from rsbounds.loading.parameters import is_torch, parameters_hash

need("torch", "a denoiser")  # or the line that says which extra to install

import torch  # noqa: E402
from torch import nn  # noqa: E402


class Classifier(nn.Module):
    """Scores of ``net`` at ``(x - shift) / spread``.

    Noise is added to x, so that it lives in the input's own range; the mean and
    standard deviation that the network was trained with are applied afterwards, here.
    Parameters are those of :class:`rsbounds.loading.models.ArrayClassifier`.
    """

    def __init__(
        self,
        net: nn.Module,
        shift: NDArray[Any] | None = None,
        spread: NDArray[Any] | None = None,
    ) -> None:
        super().__init__()
        self.net = net
        self.shift: torch.Tensor | None
        self.spread: torch.Tensor | None
        for name, value in (("shift", shift), ("spread", spread)):
            tensor = None if value is None else torch.from_numpy(value.copy())
            self.register_buffer(name, tensor, persistent=False)

    @property
    def query_levels(self) -> Any:
        """The levels of the network's two queries of its input as it is, or None."""
        return getattr(self.net, "query_levels", None) if self.shift is None else None

    def forward(self, x: torch.Tensor) -> Any:
        """Scores (count, classes) of a batch (count, *shape of x)."""
        if self.shift is not None and self.spread is not None:
            x = (x - self.shift.to(x.dtype)) / self.spread.to(x.dtype)
        return scores_in(self.net(x))


class MaskedClassifier(Classifier):
    """A classifier whose ``net`` takes an ``attention_mask``."""

    def forward(
        self, x: torch.Tensor, attention_mask: torch.Tensor | None = None
    ) -> Any:
        """Scores (count, classes) of a batch, of which the mask says what is there."""
        if attention_mask is None:
            return super().forward(x)
        return scores_in(self.net(x, attention_mask=attention_mask))


def takes_mask(net: Any) -> bool:
    """Whether a module's ``forward`` has an argument ``attention_mask``."""
    return "attention_mask" in signature(net.forward).parameters


class Denoiser(NamedTuple):
    """A denoiser before its noise level is known.

    :func:`load_denoiser` describes the parts.
    """

    net: Any
    alphas_cumprod: Any
    prediction: str
    describe: dict[str, Any]


def load_denoiser(spec: str, *, download: bool = False) -> Denoiser:
    """The denoiser of that name; ValueError if it can't be built, or is not on disk.

    Parameters
    ----------
    spec : str
        ``hf:DIRECTORY_OR_ID``, a pipeline of diffusers with a UNet2DModel and a
        scheduler; or ``MODULE:CALLABLE`` or ``path/to/file.py:CALLABLE``, where
        CALLABLE() returns (net, alphas_cumprod) or (net, alphas_cumprod, prediction).
        ``net(y, t)``, a torch module, with y (count, *shape of x) and t (count,)
        returns the prediction for y, or an object whose ``sample`` is that: "epsilon"
        (the noise), "sample" (the clean image) or "v_prediction" (a*noise - b*image).
        ``alphas_cumprod`` is the schedule, falling, in (0, 1).
    download : bool
        Whether a pipeline that is not on disk may be fetched.
    """
    kind, _, place = spec.partition(":")
    describe: dict[str, Any] = {"source": None}
    if kind == "hf":
        with naming("denoiser"):
            parts: Any = _pipeline(place, download)
    else:
        parts = call("denoiser", spec)
        describe = fingerprint(spec, None)
    several = isinstance(parts, tuple) and len(parts) in (2, 3)
    if not several or not is_torch(parts[0]):
        raise ArgumentError(
            "denoiser",
            f"{shown(spec)} must return (torch module, alphas_cumprod) or (torch "
            f"module, alphas_cumprod, prediction); got {type(parts).__name__}",
        )
    net, alphas, prediction = parts if len(parts) == 3 else (*parts, "epsilon")
    describe |= {
        "spec": spec,
        "parameters": parameters_hash(net),
        "prediction": prediction,
    }
    return Denoiser(net, alphas, prediction, describe)


def denoised(loaded: Loaded, denoiser: Denoiser, sigma: float) -> Loaded:
    """A torch classifier with a denoiser in front, at the timestep of ``sigma``.

    Its ``describe["denoiser"]`` has the denoiser's hash, timestep and level. Sigma is
    measured in the range of the inputs that the classifier was loaded for.
    """
    if not is_torch(loaded.model):
        raise ValueError("a denoiser needs a torch classifier; this model is none")
    model = Denoised(
        denoiser.net,
        loaded.model,
        denoiser.alphas_cumprod,
        sigma,
        prediction=denoiser.prediction,
        input_range=loaded.describe.get("preprocessing", {}).get("input_range"),
    )
    described = {
        **denoiser.describe,
        "timestep": model.timestep,
        "timestep_sigma": model.timestep_sigma,
    }
    describe = {**loaded.describe, "denoiser": described}
    return replace(loaded, model=model.eval(), describe=describe)


class Denoised(nn.Module):
    """Scores of ``classifier`` on denoised images.

    It takes images in ``input_range`` ([0, 1]).

    ``denoiser`` is the network; the other parameters are those of
    :func:`load_denoiser`. ``timestep`` is the schedule's for ``sigma``, on the input's
    own range; ``timestep_sigma`` is that timestep's level there.
    """

    def __init__(
        self,
        denoiser: Any,
        classifier: Any,
        alphas_cumprod: Any,
        sigma: float,
        *,
        prediction: str = "epsilon",
        input_range: tuple[float, float] | None = None,
    ) -> None:
        super().__init__()
        self.denoiser = denoiser
        self.classifier = classifier
        self.prediction = choice(
            "prediction", prediction, ("epsilon", "sample", "v_prediction")
        )
        low, high = span(input_range)
        self._low = low
        self._half = (high - low) / 2
        alphas = as_floats(
            "alphas_cumprod", alphas_cumprod, 0, 1, closed="neither", nan=False
        )
        if alphas.ndim != 1 or len(alphas) < 2 or not (np.diff(alphas) < 0).all():
            raise ValueError(
                "alphas_cumprod must be one row of falling numbers, at least two"
            )
        self.timestep = timestep(alphas, sigma / self._half)
        self._a = float(np.sqrt(alphas[self.timestep]))
        self._b = float(np.sqrt(1 - alphas[self.timestep]))
        self.timestep_sigma = self._half * self._b / self._a

    def forward(self, x: torch.Tensor) -> Any:
        """Scores of noisy inputs (count, *shape of x)."""
        y = self._a * ((x - self._low) / self._half - 1)
        t = torch.full((len(x),), self.timestep, device=x.device, dtype=torch.long)
        predicted = self.denoiser(y, t)
        predicted = getattr(predicted, "sample", predicted)
        if predicted.shape != y.shape:
            raise ValueError(
                f"the denoiser must return the shape of its input, {tuple(y.shape)}; "
                f"got {tuple(predicted.shape)}"
            )
        clean = predicted
        if self.prediction == "epsilon":
            clean = (y - self._b * predicted) / self._a
        elif self.prediction == "v_prediction":
            clean = self._a * y - self._b * predicted
        clean = (clean.clamp(-1, 1) + 1) * self._half + self._low
        return scores_in(self.classifier(clean))


def timestep(alphas_cumprod: Any, level: float) -> int:
    """Timestep whose level sqrt((1 - alpha)/alpha), on [-1, 1], is nearest.

    Levels are compared by their logarithms.

    ValueError where ``level`` lies outside the schedule's levels by more than one of
    its steps.
    """
    alphas = np.asarray(alphas_cumprod, dtype=np.float64)
    if not 0 < level < np.inf:
        raise ArgumentError("sigma", f"must be > 0; got level {level}")
    levels = np.log((1 - alphas) / alphas) / 2
    wanted = np.log(level)
    step = np.diff(levels)
    if not levels[0] - step[0] <= wanted <= levels[-1] + step[-1]:
        low, high = np.exp(levels[[0, -1]])
        raise ArgumentError(
            "sigma",
            "must be a level of the denoiser's schedule; on images in [-1, 1] it is "
            f"{level:.4g}, and the schedule has {low:.4g} to {high:.4g}",
        )
    return int(np.argmin(np.abs(levels - wanted)))


def _pipeline(place: str, download: bool) -> tuple[Any, Any, str]:
    """The network, schedule and prediction of a diffusers directory."""
    where = f"hf:{shown(place)}"
    diffusers = need("diffusers", where)
    located(where, place, "unet/config.json", download=download)
    is_local = Path(place).is_dir() or not reachable(where, download=download)

    def network() -> Any:
        return diffusers.UNet2DModel.from_pretrained(
            place,
            subfolder="unet",
            use_safetensors=True,
            # otherwise diffusers says at length that it lacks accelerate
            low_cpu_mem_usage=False,
            local_files_only=is_local,
        )

    def schedule() -> Any:
        return diffusers.DDPMScheduler.from_pretrained(
            place, subfolder="scheduler", local_files_only=is_local
        )

    net = guarded(where, network)
    scheduler = guarded(where, schedule)
    return net, scheduler.alphas_cumprod.numpy(), scheduler.config.prediction_type
