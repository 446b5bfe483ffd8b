"""Boost.Math's noncentral chi-square asked directly, where a compiler and its headers
are.
"""

import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

Values = np.ndarray[tuple[int, ...], np.dtype[np.float64]]

# Rows of "x p df nc upper" in hexadecimal, or "low high df nc" to be timed; a policy
# that answers where the default would throw, with the default's promotion of double to
# long double.
SOURCE = r"""
#include <boost/math/distributions/non_central_chi_squared.hpp>
#include <boost/version.hpp>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <limits>
using namespace boost::math::policies;
using Policy = policy<domain_error<errno_on_error>, pole_error<errno_on_error>,
                      overflow_error<errno_on_error>, evaluation_error<errno_on_error>,
                      rounding_error<errno_on_error>,
                      indeterminate_result_error<errno_on_error>>;
using Law = boost::math::non_central_chi_squared_distribution<double, Policy>;

template <class F>
double caught(F f) {
    try { return f(); } catch (...) { return std::numeric_limits<double>::quiet_NaN(); }
}
double tail(const Law& law, double x, bool up) {
    return caught([&] { return up ? cdf(complement(law, x)) : cdf(law, x); });
}
double density(const Law& law, double x) { return caught([&] { return pdf(law, x); }); }
double quantile_of(const Law& law, double p, bool up) {
    return caught([&] { return up ? quantile(complement(law, p)) : quantile(law, p); });
}
template <class F>
double each(F f, int n) {
    double best = 1e9;
    volatile double sum = 0;
    for (int round = 0; round < 5; ++round) {
        const std::clock_t start = std::clock();
        for (int i = 0; i < n; ++i) sum = sum + f(i / (n - 1.0));
        best = std::min(best, double(std::clock() - start) / CLOCKS_PER_SEC / n * 1e6);
    }
    return best;
}
int main(int, char** argv) {
    double a, b, df, nc, up;
    if (!std::strcmp(argv[1], "version")) std::puts(BOOST_LIB_VERSION);
    if (!std::strcmp(argv[1], "values"))
        while (std::scanf("%la %la %la %la %la", &a, &b, &df, &nc, &up) == 5) {
            const Law law(df, nc);
            const double at_a = tail(law, a, up > 0);
            const double at_b = quantile_of(law, b, up > 0);
            std::printf("%a %a %a\n", at_a, density(law, a), at_b);
        }
    if (!std::strcmp(argv[1], "times"))
        while (std::scanf("%la %la %la %la", &a, &b, &df, &nc) == 4) {
            const Law law(df, nc);
            const auto x = [&](double t) { return a + (b - a) * t; };
            const auto tails = [&](double t) { return tail(law, x(t), false); };
            const auto densities = [&](double t) { return density(law, x(t)); };
            const auto quantiles = [&](double t) {
                return quantile_of(law, .05 + .9 * t, false);
            };
            std::printf("%g %g %g\n", each(tails, 4000), each(densities, 4000),
                        each(quantiles, 400));
        }
}
"""


def boost(folder: Path) -> Callable[[str, Sequence[Sequence[float]]], Values] | None:
    """ask(what, rows) -> rows of values; ``what`` is "values" or "times". None without
    Boost.
    """
    compiler = shutil.which("c++")
    if compiler is None:
        return None
    source, program = folder / "boost.cpp", folder / "boost"
    source.write_text(SOURCE)
    command = [compiler, "-std=c++17", "-O3", str(source), "-o", str(program)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        return None

    def ask(what: str, rows: Sequence[Sequence[float]]) -> Values:
        given = "\n".join(" ".join(float(v).hex() for v in row) for row in rows)
        out = subprocess.run(
            [program, what], input=given, capture_output=True, text=True, check=True
        ).stdout
        return np.array(
            [[_number(v) for v in line.split()] for line in out.splitlines()]
        )

    return ask


def version() -> str:
    """As the headers say, or what is missing."""
    with tempfile.TemporaryDirectory() as name:
        if boost(Path(name)) is None:
            return "Boost.Math was not at hand"
        out = subprocess.run(
            [Path(name) / "boost", "version"], capture_output=True, check=True
        )
        return f"Boost.Math {out.stdout.decode().strip().replace('_', '.')}"


def _number(text: str) -> float:
    return float.fromhex(text) if "x" in text else float(text)
