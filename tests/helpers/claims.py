"""When answers' statements are wrong, by what probabilities become at a distance."""

from functools import cache

import numpy as np

from rsbounds.answers._map_rows import from_runs


class Claims:
    """Claims under one noise.

    ``moved(share, radii)`` has the least and the largest probability that a share may
    become at each of the radii; ``tried`` are the radii to look at, ``step`` apart
    where the radius may lie between two of them.
    """

    def __init__(self, moved, tried, step=0.0):
        self.moved = cache(lambda share, radii: moved(share, np.array(radii)))
        self.tried = tuple(tried)
        self.step = step
        self.largest_top_k_radius = cache(self._largest_top_k_radius)

    def _largest_top_k_radius(self, shares, label, k):
        """The most that a label with this share keeps among the k most likely."""
        others = sorted((p for c, p in enumerate(shares) if c != label), reverse=True)
        best = 0.0
        for t in range(1, k + 1):
            low, _ = self.moved(shares[label], self.tried)
            _, high = self.moved(min(sum(others[k - t : k]), 1.0), self.tried)
            kept = t * low > high
            if kept.any():
                best = max(best, np.array(self.tried)[kept].max() + self.step)
        return best

    def outside_the_best(self, k, answered, label, probabilities):
        """Whether a certificate of the k best is more than the truth."""
        radius = answered.certificate.radius
        shares = tuple(probabilities[0])
        return radius > 0 and not radius <= self.largest_top_k_radius(shares, label, k)

    def another_flag(self, threshold, answered, label, probabilities):
        """Whether a flag is more than the truth, of an alarm that is the first kind."""
        certificate = answered.certificate
        if certificate.predict == -1:
            return False
        # what is certified holds at the radius itself, and the radius is within 1e-9
        radius = certificate.radius * (1 - 1e-9)
        low, high = self.moved(probabilities[0][0], (radius,))
        if certificate.predict == 1:
            return not low[0] > threshold
        return not high[0] <= threshold

    def outside_the_interval(self, radii, answered, label, probabilities):
        """Whether a median of 0, 1 and 2 with these shares leaves its interval."""
        below = np.minimum(np.cumsum(probabilities[0]), 1.0)  # of at most 0, 1, 2
        low, high = (answered.columns[side].split(";") for side in ("low", "high"))
        for place in range(len(radii)):
            most = np.array([self.moved(p, radii)[1][place] for p in below])
            least = [self.moved(p, radii)[0][place] for p in (0.0, *below[:-1])]
            # a median: half of all at most it, and half at least it
            smallest = int(np.argmax(most >= 0.5))
            largest = 2 - int(np.argmax((np.array(least) <= 0.5)[::-1]))
            if float(low[place]) > smallest or float(high[place]) < largest:
                return True
        return False


def wrong_position(tau, answered, label, probabilities):
    """Whether a position is certified whose class is not likelier than tau."""
    certified = int(answered.columns["certified"])
    p = probabilities[0]
    first = np.array([p[0] + p[1], p[0] + p[2]])  # of the class 0 at each position
    hits = from_runs(answered.columns["hits"])
    held = np.array(sorted(range(2), key=lambda i: -hits[i])[:certified], int)
    return bool((first[held] <= tau).any())


def positions(counts):
    """Counts of two classes at two positions, of four kinds of samples."""
    both, first, second, neither = counts
    return np.array(
        [[both + first, second + neither], [both + second, first + neither]]
    )


def medians(counts):
    """Samples of the three outputs 0, 1 and 2."""
    return np.repeat([[0.0], [1.0], [2.0]], counts, axis=0)
