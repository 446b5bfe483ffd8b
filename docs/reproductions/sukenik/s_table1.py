"""[S] Table 1: the smallest sigma1/sigma0 that Theorem 4 does not rule out."""

from shared import Table, columns, publish

from rsbounds.semielastic import ratio_threshold

DATA = (("MNIST", 784), ("CIFAR10", 3072), ("ImageNet", 196608))
P_A = (0.9, 0.99, 0.999, 0.99993)


def table() -> Table:
    rows = [
        (data, dim, p_a, *(float(ratio_threshold(p_a, dim, bound=b)) for b in BOUNDS))
        for data, dim in DATA
        for p_a in P_A
    ]
    return columns("data dim p_a theorem_4 corollary_5 exact", rows)


BOUNDS = ("chernoff", "simple", "exact")

if __name__ == "__main__":
    publish(__file__, table())
