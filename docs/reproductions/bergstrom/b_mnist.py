"""[B]'s MNIST setting: the constant L and the largest radius by Theorem 3."""

from shared import Table, columns, publish

from rsbounds import gaussian, lipschitz

DIM, LIP, SIGMA_MIN, P_MIN, CLASSES = 784, 0.5, 0.65, 1e-7, 10
TOP = 1 - (CLASSES - 1) * P_MIN  # what normalised scores leave the best class


def table() -> Table:
    paper = {
        "lip": LIP,
        "sigma_min": SIGMA_MIN,
        "dim": DIM,
        "method": "paper",
        "p_min": P_MIN,
    }
    rows = [
        ("L", float(lipschitz.constant(DIM, LIP, SIGMA_MIN, P_MIN))),
        (
            "largest_radius_10_classes",
            float(lipschitz.radius(TOP, 1.0, p_b=P_MIN, **paper)),
        ),
        (
            "largest_radius_any_score",
            float(lipschitz.radius(1 - P_MIN, 1.0, p_b=P_MIN, **paper)),
        ),
        ("cohen_same_scores_sigma_1", float(gaussian.radius(TOP, 1.0, P_MIN))),
    ]
    for sigma in (SIGMA_MIN, 1.0):
        for method in ("integrated", "exact"):
            radius = lipschitz.radius(
                -SCORE,
                sigma,
                lip=LIP,
                sigma_min=SIGMA_MIN,
                dim=DIM,
                method=method,
                scores=True,
            )
            rows.append((f"{method}_sigma_{sigma:g}", float(radius)))
    return columns("quantity value", rows)


SCORE = -5.199337582187471  # Phi^-1(1e-7)

if __name__ == "__main__":
    publish(__file__, table())
