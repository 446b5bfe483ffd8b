"""torch's global generators, seeded for a while, on the devices that are used."""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from typing import Any

import torch


@contextmanager
def seeded(seed: int, devices: Iterable[torch.device]) -> Iterator[None]:
    """Seed the generators of the CPU and of these devices, and restore them afterwards.

    No other device is touched: another process may be at work there.
    """
    used = _accelerators(devices)
    with ExitStack() as stack:
        stack.enter_context(torch.random.fork_rng(devices=[]))  # the CPU's alone
        for device in used:
            module: Any = torch.get_device_module(device)
            place = _place(device)
            stack.callback(module.set_rng_state, module.get_rng_state(*place), *place)
        reseed(seed, used)
        yield


def reseed(seed: int, devices: Iterable[torch.device]) -> None:
    """Seed the generators of the CPU and of these devices."""
    torch.default_generator.manual_seed(seed)
    for device in _accelerators(devices):
        module: Any = torch.get_device_module(device)
        with module.device(device) if _place(device) else nullcontext():
            module.manual_seed(seed)


def states(devices: Iterable[torch.device]) -> list[torch.Tensor]:
    """The states of the generators of the CPU and of these devices."""
    saved = [torch.get_rng_state()]
    for device in _accelerators(devices):
        module: Any = torch.get_device_module(device)
        saved.append(module.get_rng_state(*_place(device)))
    return saved


def restore(saved: list[torch.Tensor], devices: Iterable[torch.device]) -> None:
    """Set the generators to what :func:`states` returned."""
    cpu, *others = saved
    torch.set_rng_state(cpu)
    for device, state in zip(_accelerators(devices), others, strict=True):
        module: Any = torch.get_device_module(device)
        module.set_rng_state(state, *_place(device))


def _accelerators(devices: Iterable[torch.device]) -> list[torch.device]:
    used = {device for device in devices if device.type not in ("cpu", "meta")}
    return sorted(used, key=str)


def _place(device: torch.device) -> tuple[torch.device, ...]:
    """The argument of a generator's functions; Apple's GPU is one and takes none."""
    return () if device.type == "mps" else (device,)
