"""Promises of the special functions, by the bound that is proved."""

import mpmath as mp
from promises import DIMS, around, promise

from rsbounds import oracle, special

DEGREES = (1e-300, 1e-9, 0.5, 1.0, 1.0000001, 4.0, 60.0, 784.0, 1e8)
CENTRES = (0.0, 1e-300, 1.0, 1e4, 1e16)
OFFSETS = (-30.0, -5.0, -1.0, 0.0, 1.0, 5.0, 30.0)


def bounded(name, *args, df=None):
    """A function's value within its proved bound of the oracle's."""
    value = getattr(special, name)(*args)
    truth = getattr(oracle, name)(*args, dps=40)
    room = special.error_bound(name, float(truth), df=df)
    return around(value, truth, absolute=float(room))


for _name in ("ndtr", "log_ndtr"):

    @promise(
        f"rsbounds.special.{_name}",
        z=(-1e150, -1e6, -37.6, -1.0, -1e-11, 0.0, 1e-300, 1e-10, 1.0, 8.3, 37.6),
    )
    def _(z, name=_name):
        yield bounded(name, z)


@promise("rsbounds.special.ndtri", p=(5e-324, 1e-300, 0.3, 0.5, 0.7, 1 - 2.0**-53))
def _(p):
    yield around(special.ndtri(p), oracle.ndtri(p, dps=40), 2e-15)


@promise(
    "rsbounds.special.ndtri_exp",
    log_p=(-1e300, -1e6, -761.0, -759.0, -1.0, -0.6931, -1e-9, -1e-16, -1e-300),
)
def _(log_p):
    yield around(special.ndtri_exp(log_p), oracle.ndtri_exp(log_p, dps=40), 2e-15)


@promise(
    "rsbounds.special.log_ndtr_gap",
    z_b=(-38.0, -5.0, -1e-9, 0.0, 1.0, 8.0, 30.0), gap=(1e-15, 1e-9, 0.1, 3.0, 60.0),
)  # fmt: skip
def _(z_b, gap):
    z_a = z_b + gap
    low, high = (-z_a, -z_b) if z_b > 0 else (z_b, z_a)
    truth = mp.log(oracle.ndtr(high, dps=60) - oracle.ndtr(low, dps=60))
    if z_a > z_b:
        room = mp.mpf("3e-14") + mp.mpf("1e-14") * abs(truth)
        yield around(special.log_ndtr_gap(z_a, z_b), truth, absolute=room)


@promise(
    "rsbounds.special.ball_score", quick=4,
    u=(-30.0, -1.0, -1e-9, 0.0, 1.0, 8.0, 38.0), dim=DIMS,
    s=(0.0, 1e-9, 1.0, 20.0, 1e6, 1e30),
)  # fmt: skip
def _(u, dim, s):
    if u > -s:
        truth = oracle.ball_score(u, dim, s, dps=40)
        rate = 4e-15 if dim >= 60 else 1.7e-14
        room = mp.mpf(rate) * (1 + abs(truth))
        yield around(special.ball_score(u, dim, s), truth, absolute=room)


def place(df, nc, offset):
    """A point so many standard deviations from the mean, above 0."""
    mean = df + nc
    x = mean + offset * (2 * (df + 2 * nc)) ** 0.5
    return x if x > 0 else mean * 1e-3


for _kind in ("cdf", "sf", "pdf", "logcdf", "logsf", "logpdf"):

    @promise(
        f"rsbounds.special.ncx2_{_kind}",
        quick=2,
        offset=OFFSETS,
        df=DEGREES,
        nc=CENTRES,
    )
    def _(offset, df, nc, kind=_kind):
        yield bounded(f"ncx2_{kind}", place(df, nc, offset), df, nc, df=df)


for _kind, _tail in (("q", "sf"), ("p", "cdf"), ("logq", "logsf"), ("logp", "logcdf")):

    @promise(
        f"rsbounds.special.marcum_{_kind}", quick=6,
        m=(0.5, 1.0, 2.0, 392.0, 5e7), a=(0.0, 1e-9, 1.0, 1e8), offset=OFFSETS,
    )  # fmt: skip
    def _(m, a, offset, kind=_kind, tail=_tail):
        b = float(place(2 * m, a * a, offset)) ** 0.5
        name = f"marcum_{kind}"
        with mp.workdps(80):
            square = mp.mpf(b) ** 2, 2 * mp.mpf(m), mp.mpf(a) ** 2
            truth = getattr(oracle, f"ncx2_{tail}")(*square, dps=40)
        room = float(special.error_bound(name, float(truth), df=2 * m))
        yield around(getattr(special, name)(m, a, b), truth, absolute=room)
