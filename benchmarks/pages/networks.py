"""The table of docs/theory/networks.md: bounds of ten networks, and what they lose.

    python benchmarks/pages/networks.py

About five minutes of a core, most of it the convolutions of a ResNet-18.
"""

import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import nn
from torch.nn.utils.parametrizations import spectral_norm, weight_norm

from rsbounds.torch import Concatenation, GroupSort, Residual, lipschitz_upper_bound
from rsbounds.torch.networks.freeze import freeze
from rsbounds.torch.networks.graph import Graph

PAGE = Path(__file__).parents[2] / "docs" / "theory" / "networks.md"
START = "at the best of a few points.\n\n"


class Block(nn.Module):
    """A residual block as anyone writes it."""

    def __init__(self, inside: int, outside: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inside, outside, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outside)
        self.conv2 = nn.Conv2d(outside, outside, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outside)
        self.down: nn.Module = nn.Identity()
        if stride > 1 or inside != outside:
            self.down = nn.Sequential(
                nn.Conv2d(inside, outside, 1, stride, bias=False),
                nn.BatchNorm2d(outside),
            )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
        return torch.relu(y + self.down(x))


def resnet18() -> nn.Module:
    """ResNet-18 for 32 x 32 pictures: torchvision's layers."""
    layers: list[nn.Module] = [
        *(nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU()),
        nn.MaxPool2d(3, 2, 1),
    ]
    inside = 64
    for outside, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        layers += [Block(inside, outside, stride), Block(outside, outside, 1)]
        inside = outside
    return nn.Sequential(
        *layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10)
    )


def settled(net: nn.Module, shape: tuple[int, ...]) -> nn.Module:
    """Batch normalisation with statistics, power iteration with steps."""
    for _ in range(5):
        net(torch.randn(32, *shape))
    return net.eval()


class Attention(nn.Module):
    """One head of a vision transformer."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(16, 48)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.qkv(x).chunk(3, -1)
        return (q @ k.transpose(1, 2)).softmax(-1) @ v


def hooked() -> nn.Module:
    net = nn.Sequential(nn.Linear(64, 32), nn.Tanh(), nn.Linear(32, 8))
    net[0].register_forward_hook(lambda m, i, o: 0.5 * o + i[0][:, :32])
    return net


class Sum(nn.Module):
    """The user's own forward, with a + in it."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(64, 64), nn.Linear(64, 64)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(self.a(x))
        return (x + self.b(y)) / 2 - y[:, :1]


NETWORKS: dict[str, tuple[tuple[int, ...], Callable[[], nn.Module]]] = {
    "dense 64-32-8, tanh": (
        (64,),
        lambda: nn.Sequential(nn.Linear(64, 32), nn.Tanh(), nn.Linear(32, 8)),
    ),
    "spectrally normalised 64-32-8": (
        (64,),
        lambda: nn.Sequential(
            spectral_norm(nn.Linear(64, 32)), nn.ReLU(), spectral_norm(nn.Linear(32, 8))
        ),
    ),
    "convolutions with batch norm": (
        (3, 16, 16),
        lambda: nn.Sequential(
            *(nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.ReLU()),
            *(nn.Conv2d(8, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.ReLU()),
            *(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 1)),
        ),
    ),
    "autoencoder with transposes": (
        (1, 16, 16),
        lambda: nn.Sequential(
            *(nn.Conv2d(1, 8, 4, 2, 1), nn.ELU(), nn.Conv2d(8, 8, 4, 2, 1), nn.ELU()),
            *(nn.ConvTranspose2d(8, 8, 4, 2, 1), nn.ELU()),
            nn.ConvTranspose2d(8, 1, 4, 2, 1),
        ),
    ),
    "linear: convolution, pooling, dense": (
        (3, 16, 16),
        lambda: nn.Sequential(
            *(nn.Conv2d(3, 8, 5, padding=2, padding_mode="reflect"), nn.AvgPool2d(4)),
            *(nn.Flatten(), nn.Linear(128, 10)),
        ),
    ),
    "residual, GroupSort, concatenation": (
        (4, 8, 8),
        lambda: nn.Sequential(
            Residual(
                nn.Sequential(weight_norm(nn.Conv2d(4, 4, 3, padding=1)), GroupSort())
            ),
            Concatenation(nn.Identity(), nn.Conv2d(4, 2, 1)),
            *(nn.Flatten(), nn.Linear(384, 1)),
        ),
    ),
    "with a hook": ((64,), hooked),
    "a forward with + and /": ((64,), Sum),
    "ResNet-18, 3 x 32 x 32": ((3, 32, 32), resnet18),
    "attention (as in a ViT)": ((9, 16), Attention),
}


def largest_gain(graph: Graph, points: int = 4, steps: int = 60) -> float:
    """The largest norm of the Jacobian found, by power iteration at random points."""
    best = 0.0

    def function(x: torch.Tensor) -> torch.Tensor:
        return graph(x)

    for _ in range(points):
        x = torch.randn(1, *graph.shape, dtype=torch.float64)
        v = torch.randn_like(x)
        for _ in range(steps):
            v = v / v.norm()
            _, image = torch.autograd.functional.jvp(function, x, v)
            _, v = torch.autograd.functional.vjp(function, x, image)
            best = max(best, float(image.norm()))
    return best


def line(name: str) -> str:
    shape, make = NETWORKS[name]
    torch.manual_seed(0)
    net = settled(make(), shape)
    start = time.perf_counter()
    try:
        graph = freeze(net, shape)
    except ValueError as error:
        reason = str(error).partition(": ")[2].partition(" (")[0]
        return f"| {name} | refused: {reason} | | | |"
    frozen = time.perf_counter() - start
    bound = lipschitz_upper_bound(graph, shape)
    took = time.perf_counter() - start - frozen
    found = largest_gain(graph, *((1, 15) if "ResNet" in name else (4, 60)))
    assert found <= bound
    times = f"{frozen:.2f} s | {took:.2f} s"
    return f"| {name} | {bound:.4g} | {found:.4g} | {times} |"


def table() -> str:
    head = "| network | bound | found | export | time |"
    rule = "| --- | --- | --- | --- | --- |"
    return "\n".join([head, rule, *map(line, NETWORKS)])


def main() -> None:
    start = time.process_time()
    freeze(nn.ReLU(), 1)
    first = time.process_time() - start
    text = PAGE.read_text()
    kept = text[: text.index(START) + len(START)]
    note = (
        f"The first export of a process loads torch's exporter, {first:.1f} s of a "
        "core; neither `import rsbounds`\nnor plain `Smooth` loads it."
    )
    PAGE.write_text(f"{kept}{table()}\n\n{note}\n")


if __name__ == "__main__":
    main()
