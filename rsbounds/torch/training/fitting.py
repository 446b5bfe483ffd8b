"""A seeded training loop, noise augmentation and projected gradient attacks."""

import math
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from rsbounds._numerics.checks import choice, count, number
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.progress import Progress
from rsbounds.sampling.torch_modules import autocast_type
from rsbounds.sampling.torch_noise import NO_FLOAT64
from rsbounds.torch.training.seeds import restore, seeded, states

Schedule = str | Callable[[torch.optim.Optimizer, int], Any]


def fit(
    module: nn.Module,
    loss: Callable[..., torch.Tensor],
    columns: Sequence[torch.Tensor],
    *,
    epochs: int = 10,
    batch_size: int = 100,
    rate: float = 3e-3,
    seed: int = 0,
    optimizer: torch.optim.Optimizer | None = None,
    schedule: Schedule = "cosine",
    autocast: str | None = None,
    progress: bool = False,
    callback: Callable[[int, float], Any] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> list[float]:
    """Train a module with AdamW; the same weights for the same seed.

    Parameters
    ----------
    module : torch.nn.Module
        Holds the parameters to train; left in eval mode. Batch normalisation whose
        weight and bias don't require gradients is frozen: it keeps its statistics.
    loss : callable
        ``loss(*batch)`` with one batch of rows from each column; returns a number.
    columns : sequence of Tensor
        Of one length, such as inputs, labels and noise levels, on any device.
    epochs, batch_size, rate
        >= 1, >= 1, and the first learning rate, > 0.
    seed : int
        Seed of order and noise, >= 0; torch's global generators are restored
        afterwards, and only those of the CPU and of the tensors' devices are touched.
    optimizer : torch.optim.Optimizer, optional
        Your own, in place of AdamW with ``rate``.
    schedule : {"cosine", "constant"} or callable
        Of the learning rate, a step a batch: ``schedule(optimizer, steps)`` returns
        one of torch's schedulers.
    autocast : {"bfloat16", "float16"}, optional
        Mixed precision of the loss; float16 with a scaled gradient.
    progress : bool
        Show a bar of epochs and the mean loss.
    callback : callable, optional
        Called as ``callback(epoch, mean_loss)`` after each epoch, from 0 on; a true
        answer ends the training.
    checkpoint : path, optional
        A file that is written after each epoch. If it exists the training goes on from
        there, to the same weights; delete it to begin anew.

    Returns
    -------
    list of float
        The mean loss of each epoch; ValueError if one isn't finite.

    Raises
    ------
    ValueError
        If an argument is out of its domain, a mean loss isn't finite, or the checkpoint
        is that of another training.

    Examples
    --------
    >>> import torch
    >>> from rsbounds.torch import augment, fit
    >>> x = torch.randn(200, 2, generator=torch.Generator().manual_seed(0))
    >>> y, model = (x[:, 0] > 0).long(), torch.nn.Linear(2, 2)
    >>> def loss(x, y):
    ...     return torch.nn.functional.cross_entropy(model(augment(x, 0.1)), y)
    >>> history = fit(model, loss, (x, y), epochs=5, rate=0.1)
    >>> history[-1] < history[0]
    True
    """
    epochs = count("epochs", epochs, 1)
    size = count("batch_size", batch_size, 1)
    rate = number("rate", rate, 0, closed="neither")
    seed = count("seed", seed)
    lengths = [len(column) for column in columns]
    if len(set(lengths)) != 1 or not lengths[0]:
        raise ValueError(f"columns must have one length, at least 1; got {lengths}")
    batches = -(-lengths[0] // size)
    if optimizer is None:
        optimizer = torch.optim.AdamW(module.parameters(), rate)
    training = _Training(
        module=module,
        loss=loss,
        columns=columns,
        batches=batches,
        optimizer=optimizer,
        schedule=_scheduler(schedule, optimizer, epochs * batches),
        autocast=autocast_type(autocast),
    )
    settings = {"epochs": epochs, "batch_size": size, "rows": lengths[0], "seed": seed}
    place = None
    if checkpoint is not None:
        place = _Checkpoint(Path(checkpoint), settings)
    _set_training(module)
    with seeded(seed, training.devices):
        if place is not None:
            place.load_into(training)
        done = len(training.history)
        bar = Progress(epochs, "epoch", done=done) if progress else None
        for epoch, mean in training.epochs(epochs, bar):
            if place is not None:
                place.save(training)
            if callback is not None and callback(epoch, mean):
                break
    module.eval()
    return training.history


def _set_training(module: nn.Module) -> None:
    """Set training mode, but leave frozen batch normalisation in eval mode."""
    module.train()
    for part in module.modules():
        if _is_frozen(part):
            part.eval()


class _Training:
    """What a training has beside its settings, and its steps."""

    def __init__(
        self,
        *,
        module: nn.Module,
        loss: Callable[..., torch.Tensor],
        columns: Sequence[torch.Tensor],
        batches: int,
        optimizer: torch.optim.Optimizer,
        schedule: Any,
        autocast: torch.dtype | None,
    ) -> None:
        self.module = module
        self.loss = loss
        self.columns = columns
        self.batches = batches
        self.optimizer = optimizer
        self.schedule = schedule
        self.autocast = autocast
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        self.devices = {tensor.device for tensor in (*columns, *parameters)}
        self.device = parameters[0].device if parameters else columns[0].device
        scaled = autocast is torch.float16 and self.device.type != "cpu"
        self.scaler = torch.amp.GradScaler(self.device.type, enabled=scaled)
        self.history: list[float] = []

    def epochs(self, end: int, bar: Progress | None) -> Iterator[tuple[int, float]]:
        """Train for the epochs that are missing; each with its mean loss."""
        missing = range(len(self.history), end)
        for epoch in missing if bar is None else bar.over(missing):
            mean = self._epoch()
            if not math.isfinite(mean):
                raise ValueError(
                    f"the loss must stay finite; got {mean} in epoch {epoch}"
                )
            if bar is not None:
                bar.note(f"loss {mean:.4g}")
            yield epoch, mean

    def _epoch(self) -> float:
        """Train on each row once; the mean loss."""
        rows = len(self.columns[0])
        # the sum stays on its device: to read it at each batch would wait for that
        total: Any = 0.0
        for chosen in torch.randperm(rows, device="cpu").tensor_split(self.batches):
            batch = (column[chosen.to(column.device)] for column in self.columns)
            total = total + self._step(*batch) * len(chosen)
        self.history.append(float(total) / rows)
        return self.history[-1]

    def _step(self, *batch: torch.Tensor) -> torch.Tensor:
        """One step of the optimiser; the loss, in float64 where there is any."""
        self.optimizer.zero_grad()
        with self._precision():
            value = self.loss(*batch)
        torch.autograd.backward(self.scaler.scale(value))
        self.scaler.step(self.optimizer)
        self.scaler.update()
        if self.schedule is not None:
            self.schedule.step()
        return exactly(value.detach())

    def _precision(self) -> AbstractContextManager[Any]:
        """Mixed precision if it was asked for; else that of the caller."""
        if self.autocast is None:
            return nullcontext()
        return torch.autocast(self.device.type, self.autocast)

    def state(self) -> dict[str, Any]:
        """What :meth:`go_on` needs."""
        return {
            "history": self.history,
            "module": self.module.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "schedule": None if self.schedule is None else self.schedule.state_dict(),
            "scaler": self.scaler.state_dict(),
            "generators": states(self.devices),
        }

    def go_on(self, state: dict[str, Any]) -> None:
        """Go on from a state of this training."""
        self.module.load_state_dict(state["module"])
        self.optimizer.load_state_dict(state["optimizer"])
        if self.schedule is not None:
            self.schedule.load_state_dict(state["schedule"])
        self.scaler.load_state_dict(state["scaler"])
        self.history = list(state["history"])
        restore(state["generators"], self.devices)


@dataclass(frozen=True)
class _Checkpoint:
    """A file that holds the state of a training of these settings."""

    path: Path
    settings: dict[str, int]

    def save(self, training: _Training) -> None:
        """Write the file in one piece or not at all."""
        part = self.path.with_name(self.path.name + ".part")
        torch.save({"settings": self.settings, **training.state()}, part)
        part.replace(self.path)

    def load_into(self, training: _Training) -> None:
        """Go on from the file if there is one; ValueError if it is of another."""
        if not self.path.exists():
            return
        state = torch.load(self.path, map_location="cpu", weights_only=True)
        if state["settings"] != self.settings:
            raise ArgumentError(
                "checkpoint",
                f"must be of a training with {self.settings}; got {state['settings']}",
            )
        training.go_on(state)


def _scheduler(schedule: Schedule, optimizer: torch.optim.Optimizer, steps: int) -> Any:
    if callable(schedule):
        return schedule(optimizer, steps)
    if choice("schedule", schedule, ("cosine", "constant")) == "constant":
        return None
    return torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)


def _is_frozen(part: nn.Module) -> bool:
    """Whether a part is batch normalisation that isn't trained."""
    parameters = list(part.parameters(recurse=False))
    frozen = bool(parameters) and not any(p.requires_grad for p in parameters)
    return isinstance(part, _BatchNorm) and frozen


def exactly(x: torch.Tensor) -> torch.Tensor:
    """``x`` in float64, or in float32 on a device that has no wider type."""
    return x.float() if x.device.type in NO_FLOAT64 else x.double()


def checked_levels(
    x: torch.Tensor, sigma: float | torch.Tensor, *, zero: bool = False
) -> torch.Tensor:
    """The noise level, or levels of rows; ValueError unless > 0, or >= 0."""
    if zero:
        return _checked("sigma", x, sigma, lambda v: v >= 0, "be >= 0")
    return _checked("sigma", x, sigma, lambda v: v > 0, "be > 0")


def _checked(
    name: str,
    like: torch.Tensor,
    value: float | torch.Tensor,
    good: Callable[[torch.Tensor], torch.Tensor],
    needed: str,
) -> torch.Tensor:
    """``value`` of the type and device of ``like``, if all of it is good.

    A tensor on another device than the CPU is not read, which would wait for it: what
    isn't good becomes NaN there, and the loss with it.
    """
    moved = torch.as_tensor(value, dtype=like.dtype, device=like.device)
    if isinstance(value, torch.Tensor) and value.device.type != "cpu":
        return moved.where(good(moved), torch.nan)
    host = torch.as_tensor(value, dtype=like.dtype, device="cpu")
    bad = ~good(host)
    if bad.any():
        raise ArgumentError(name, f"must {needed}; got {host[bad].min().item()}")
    return moved


def augment(x: torch.Tensor, sigma: float | torch.Tensor) -> torch.Tensor:
    """Return x plus Gaussian noise of one level, or of one level for each row.

    Parameters
    ----------
    x : Tensor, shape (n, ...)
    sigma : float or Tensor, shape (n,)
        Standard deviation, >= 0, in the input's unit; the gradient reaches it.

    Examples
    --------
    >>> import torch
    >>> from rsbounds.torch import augment
    >>> augment(torch.zeros(3, 2), torch.tensor([0.0, 1.0, 2.0]))[0].tolist()
    [0.0, 0.0]
    """
    level = checked_levels(x, sigma, zero=True)
    return x + level.reshape(-1, *[1] * (x.ndim - 1)) * torch.randn_like(x)


def soft_vote(
    model: Callable[[torch.Tensor], torch.Tensor],
    x: torch.Tensor,
    sigma: float | torch.Tensor,
    samples: int,
) -> torch.Tensor:
    """Mean class probabilities over noisy copies, differentiable.

    Parameters
    ----------
    model : callable
        From a batch to scores (n, classes).
    x : tensor, shape (n, ...)
        Inputs.
    sigma : float or tensor, shape (n,)
        Noise level, of all inputs or of each.
    samples : int
        Copies of each input.

    Returns
    -------
    tensor, shape (n, classes)
        In [0, 1], the rows sum to 1.

    Examples
    --------
    >>> import torch
    >>> from rsbounds.torch import soft_vote
    >>> soft_vote(lambda x: x, torch.zeros(5, 2), 1.0, 8).shape
    torch.Size([5, 2])
    """
    copies = count("samples", samples, 1)
    level = levels(x, sigma).repeat_interleave(copies)
    noisy = augment(x.repeat_interleave(copies, 0), level)
    return model(noisy).softmax(1).reshape(len(x), copies, -1).mean(1)


def levels(x: torch.Tensor, sigma: float | torch.Tensor) -> torch.Tensor:
    """The noise level of each row of a batch."""
    return torch.as_tensor(sigma, dtype=x.dtype, device=x.device).expand(len(x))


def pgd(
    objective: Callable[[torch.Tensor], torch.Tensor],
    x: torch.Tensor,
    radius: float | torch.Tensor,
    *,
    norm: float = 2,
    steps: int = 40,
    step: float = 0.1,
    box: tuple[float, float] | None = None,
) -> torch.Tensor:
    """Projected gradient ascent of an objective in a ball around each input.

    Parameters
    ----------
    objective : callable
        Maps a batch like x to one number for each row, to be made large.
    x : Tensor, shape (n, ...)
    radius : float or Tensor, shape (n,)
        Radius of the ball, >= 0, in the input's unit.
    norm : {2, inf}
        The ball's norm: steps go along the gradient over its l2 norm, or along its
        sign.
    steps, step
        Number of steps, >= 1, and the first one's share of the radius, > 0, which falls
        linearly to a tenth of that.
    box : (float, float), optional
        Range of the input's values to stay in; x lies in it.

    Returns
    -------
    Tensor
        The best point seen for each row, at most 0.99999 ``radius`` away.

    Examples
    --------
    >>> import torch
    >>> from rsbounds.torch import pgd
    >>> moved = pgd(lambda x: x.sum(1), torch.zeros(1, 2), 0.5, norm=float("inf"))
    >>> [round(v, 3) for v in moved[0].tolist()]
    [0.5, 0.5]
    """
    if norm not in (2, math.inf):
        raise ValueError(f"norm must be 2 or inf; got {norm!r}")
    steps = count("steps", steps, 1)
    step = number("step", step, 0, closed="neither")
    shape = (-1, *[1] * (x.ndim - 1))
    limit = _checked(
        "radius", x, radius, lambda v: (v >= 0) & (v < math.inf), "be in [0, inf)"
    )
    limit = (limit.expand(len(x)) * 0.99999).reshape(shape)
    if box is not None:
        low, high = box
        x = _checked("x", x, x, lambda v: (v >= low) & (v <= high), f"lie in box {box}")
    delta = torch.zeros_like(x)
    best = x.clone()
    record = torch.full((len(x),), -torch.inf, dtype=x.dtype, device=x.device)
    for index in range(steps + 1):
        point = (x + delta).detach().requires_grad_()
        values = objective(point)
        better = values.detach() > record
        record = torch.where(better, values.detach(), record)
        best = torch.where(better.reshape(shape), point.detach(), best)
        if index == steps:
            break
        (slope,) = torch.autograd.grad(values.sum(), point)
        size = limit * step * (1 - 0.9 * index / steps)
        if norm == 2:
            delta = delta + size * slope / _length(slope, shape)
            delta = delta * (limit / _length(delta, shape)).clamp(max=1.0)
        else:
            delta = (delta + size * slope.sign()).clamp(min=-limit, max=limit)
        if box is not None:
            delta = (x + delta).clamp(*box) - x
    return best


def _length(x: torch.Tensor, shape: tuple[int, ...]) -> torch.Tensor:
    length: torch.Tensor = torch.linalg.vector_norm(x.flatten(1), dim=1)
    return length.clamp(min=1e-30).reshape(shape)
