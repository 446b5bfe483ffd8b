"""[H] Theorem 7.1 against the tight radius under Laplace noise of scale 1."""

from shared import Table, columns, publish

from rsbounds.anisotropic import laplace_radius

CASES = ((0.7, 0.1), (0.6, 0.3), (0.8, 0.2), (0.9, 0.05), (0.99, 0.01), (0.4, 0.3))


def table() -> Table:
    rows = [
        (
            a,
            b,
            *(float(laplace_radius(a, 1.0, b, method=m)) for m in ("paper", "tight")),
        )
        for a, b in CASES
    ]
    return columns("p_a p_b paper tight", rows)


if __name__ == "__main__":
    publish(__file__, table())
