"""ncx2.csv: logarithms of the noncentral chi-square law to 50 digits.

    python benchmarks/ncx2-values/make.py

Each value is computed twice, by a contour integral and by a series that share no
formula but the definition (rsbounds.oracle), at 60 digits; it is written only if they
agree to 52.
"""

import hashlib
import math
from itertools import product
from pathlib import Path

from mpmath import mp, nstr

from rsbounds import oracle

HERE = Path(__file__).parent
DIGITS = 50
DF = (0.5, 1.0, 2.0, 3.0, 10.0, 100.0, 784.0, 3072.0, 150528.0)
NC = (0.0, 0.01, 1.0, 100.0, 10000.0)
#: Standard deviations from the mean, and factors of the mean where that is below 0.
STEPS = {-30: 1 / 8, -8: 1 / 4, -3: 1 / 2, -1: 0.9, 0: 1, 1: 1, 3: 1, 8: 1, 30: 1}
HEAD = "x,df,nc,logcdf,logsf,logpdf"


def points():
    """The x of each law, as doubles of few digits."""
    for df, nc in product(DF, NC):
        mean, deviation = df + nc, math.sqrt(2 * (df + 2 * nc))
        for steps, factor in STEPS.items():
            x = mean + steps * deviation
            yield float(f"{x if x > 0 else mean * factor:.4g}"), df, nc


def line(x, df, nc):
    """A line of the file; ValueError if the two methods differ."""
    first, second = (
        oracle.ncx2_tails(x, df, nc, dps=60, method=method)
        for method in ("contour", "series")
    )
    with mp.workdps(70):
        for a, b in zip(first, second, strict=True):
            if not abs(a - b) <= mp.mpf(10) ** -52 * abs(a):
                raise ValueError(f"{x}, {df}, {nc}: {a} and {b}")
        values = [nstr(value, DIGITS, strip_zeros=False) for value in first]
    return ",".join([repr(x), repr(df), repr(nc), *values])


def main():
    lines = [HEAD, *(line(*point) for point in dict.fromkeys(points()))]
    text = "\n".join(lines) + "\n"
    (HERE / "ncx2.csv").write_text(text, encoding="ascii")
    digest = hashlib.sha256(text.encode()).hexdigest()
    (HERE / "SHA256SUMS").write_text(f"{digest}  ncx2.csv\n", encoding="ascii")


if __name__ == "__main__":
    main()
