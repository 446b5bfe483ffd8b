"""Cost of the ball kernels in instructions, which repeats from run to run.

    python benchmarks/pages/instructions.py

needs g++ and valgrind; writes docs/benchmarks/instructions.md.
"""

import re
import subprocess
import tempfile
from pathlib import Path

from machine import machine

import rsbounds_ext

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks" / "instructions.md"
PROGRAM = """
#include <rsbounds/envelope.hpp>
#include <cstdlib>
using namespace rsb;
template <class F>
bool calls(int n, F f) {
    double total = 0;
    for (int i = 0; i < n; ++i) total += f(1e-7 * i);
    return total == 12345;
}
template <class Envelope>
bool radii(int n, double dim, Envelope e) {
    return calls(n, [=](double t) {
        return envelope_radius(Budget{2 + t, -2 - t, 4 + 2 * t, .25, dim, 0}, e);
    });
}
int main(int, char** v) {
    const double dim = atof(v[1]), nc = atof(v[2]), s = std::sqrt(nc);
    const double x = ncx2_quantile({2, 0}, dim, nc);
    const int n = atoi(v[3]);
    switch (v[4][0]) {
        case 't':
            return calls(
                n, [=](double t) { return ncx2_tail(x + t, dim, nc).log_upper(); });
        case 'q': return calls(n, [=](double t) { return ball_offset(2 + t, dim, s); });
        case 's': return radii(n, dim, SemiElastic{.01});
        case 'l': return radii(n, dim, LipschitzSigma{.1, .2});
        default: return radii(n, dim, SigmaRange{.25 / 1.002, .25 * 1.002});
    }
}
"""
CASES = [
    (784, 0.0),
    (784, 1e6),
    (3072, 0.0),
    (150528, 0.0),
    (150528, 1e6),
    (150528, 1e16),
]


def instructions(program: Path, dim: int, nc: float, kind: str) -> float:
    def count(n: int) -> int:
        valgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
        run = subprocess.run(
            [*valgrind, str(program), str(dim), str(nc), str(n), kind],
            capture_output=True,
            text=True,
            check=True,
        )
        return int(re.search(r"I\s+refs:\s+([\d,]+)", run.stderr)[1].replace(",", ""))

    return (count(4000) - count(2000)) / 2000


def first_line(program: str) -> str:
    """What a program says of its version."""
    words = [program, "--version"]
    return subprocess.run(
        words, capture_output=True, text=True, check=True
    ).stdout.split("\n")[0]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder, "cost.cpp"), Path(folder, "cost")
        source.write_text(PROGRAM)
        flags = [
            "-O3",
            "-std=c++17",
            "-ffp-contract=off",
            "-fno-math-errno",
            "-Wno-psabi",
            "-w",
        ]
        avx2 = "avx2" in Path("/proc/cpuinfo").read_text()
        flags += ["-mavx2", "-mfma"] if avx2 else []
        vectors = "AVX2" if avx2 else "SSE2"
        include = f"-I{rsbounds_ext.get_include()}"
        subprocess.run(
            ["g++", *flags, include, str(source), "-o", str(program)], check=True
        )
        lines = [
            "# Cost in instructions",
            "",
            f"Instructions of one call in compiled code with {vectors} vectors, made "
            "by",
            f"`python benchmarks/pages/instructions.py` on: {machine()};",
            f"{first_line('g++')}; {first_line('valgrind')}.",
            "Unlike times they repeat exactly, given the compiler and the vectors. "
            '"Log tail" is\n`ncx2_logsf`, "offset" is `ball_offset`, a quantile; '
            "the ratio is that of both.",
            "",
            "| d | nc | log tail | offset | ratio |",
            "|---|---|---|---|---|",
        ]
        for dim, nc in CASES:
            tail, offset = (instructions(program, dim, nc, kind) for kind in "tq")
            lines.append(
                f"| {dim} | {nc:.0e} | {tail:.0f} | {offset:.0f} | "
                f"{offset / tail:.2f} |"
            )
        lines += [
            "",
            "A radius at a score of 2, both branches, sigma = .25:",
            "",
            "| d | semi-elastic, rate .01 | Lipschitz .1, floor .2 | range of .2 % "
            "each way |",
            "|---|---|---|---|",
        ]
        for dim in (784, 3072, 150528):
            counts = (f"{instructions(program, dim, 0.0, kind):.0f}" for kind in "slr")
            lines.append(f"| {dim} | {' | '.join(counts)} |")
    PAGE.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
