"""A seeded training loop."""

import inspect
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
from rsbounds.torch.training.perturbed import exactly
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
    _require_loss(loss, columns)
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


def _require_loss(loss: Callable[..., torch.Tensor], columns: Sequence[Any]) -> None:
    """ArgumentError for a loss that doesn't take one batch of each column."""
    try:
        inspect.signature(loss).bind(*columns)
    except TypeError as error:
        raise ArgumentError(
            "loss",
            f"must take a batch of each column, {len(columns)} in all ({error}); of a "
            "loss that also takes the module give functools.partial(loss, module)",
        ) from None
    except ValueError:  # code without a signature: its first call will show
        return


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
