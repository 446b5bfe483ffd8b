"""[L]: the radius r_p in l_p norms, and what the local gradient bound would certify."""

from shared import Table, columns, publish

from rsbounds import gaussian

P_A, SIGMA = 0.99, 0.5
DIMS = (784, 3072, 150528)
NORMS = (1.0, 2.0, 3.0, 10.0, float("inf"))


def table() -> Table:
    rows = []
    for dim in DIMS:
        for norm in NORMS:
            radius = float(gaussian.radius(P_A, SIGMA, norm=norm, dim=dim))
            printed = float(gaussian.radius(P_A, SIGMA)) / dim ** (0.5 - 1 / norm)
            rows.append((dim, norm, radius, printed))
    return columns("dim norm radius printed_formula", rows)


if __name__ == "__main__":
    publish(__file__, table())
