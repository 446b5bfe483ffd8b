"""Randomized smoothing for the Adversarial Robustness Toolbox, with sound certificates."""

from itertools import count as counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds import certify as procedure
from rsbounds._numerics.checks import count
from rsbounds._numerics.extras import need
from rsbounds.certificate import ABSTAIN
from rsbounds.sampling import ArraySampler, Phase, noisy, stream
from rsbounds.sampling.blocks import single
from rsbounds.schemes import gaussian

_art: Any = need(
    "art.estimators.certification.randomized_smoothing.numpy", "rsbounds.art"
)


class RandomizedSmoothing(_art.NumpyRandomizedSmoothing):  # type: ignore[misc]
    """ART's classifier of that name, whose predictions and radii are those of rsbounds.

    It fits, and gives gradients to attacks, as ART's own does. Certificates are rounded
    to the safe side, and are the same in every run.

    Parameters
    ----------
    classifier : ART classifier with gradients
        What is smoothed, such as a ``PyTorchClassifier``.
    sample_size : int
        Samples of a prediction, of the choice of a class, and of a mean gradient, >= 1.
    scale : float
        Standard deviation of the noise, > 0.
    alpha, seed, runner_up
        As in :class:`rsbounds.certify.Procedure`, errors too; the i-th input since the
        object was made draws the same samples in every run.

    Examples
    --------
    >>> import torch
    >>> from art.estimators.classification import PyTorchClassifier
    >>> from rsbounds.art import RandomizedSmoothing
    >>> net = torch.nn.Linear(2, 2, bias=False)
    >>> net.weight.data = torch.tensor([[1.0, 0.0], [-1.0, 0.0]])
    >>> base = PyTorchClassifier(net, torch.nn.CrossEntropyLoss(), (2,), 2)
    >>> smooth = RandomizedSmoothing(base, 100, scale=0.5)
    >>> prediction, radius = smooth.certify(np.array([[0.5, 0.0]], np.float32), n=10_000)
    >>> int(prediction[0]), bool(0.45 < radius[0] < 0.5)  # the truth is 0.5
    (0, True)
    """

    def __init__(
        self,
        classifier: Any,
        sample_size: int,
        scale: float = 0.1,
        alpha: float = 0.001,
        *,
        seed: int = 0,
        runner_up: bool = True,
    ) -> None:
        self._scheme, self._seed = gaussian(scale), count("seed", seed)
        self._calls, self._looks, self._runner_up = counter(), counter(), runner_up
        samples = count("sample_size", sample_size, 1)
        super().__init__(classifier, samples, scale=scale, alpha=alpha)

    def certify(
        self, x: NDArray[Any], n: int, batch_size: int = 32
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Classes and radii of a batch; -1 and 0 where the smoothed classifier
        abstains.

        ``n`` samples bound a class's probability; ``batch_size`` is the rows of a
        forward pass.
        """
        sampler, scheme = self._sampler(batch_size), self._scheme
        terms: dict[str, Any] = {"n0": self.sample_size, "n": n, "alpha": self.alpha}
        terms["runner_up"] = self._runner_up
        each = [
            procedure.certify(sampler, row, scheme, **terms, **self._draw())
            for row in x
        ]
        return np.array([c.predict for c in each]), np.array([c.radius for c in each])

    def predict(
        self,
        x: NDArray[Any],
        batch_size: int = 128,
        verbose: bool = False,
        **options: Any,
    ) -> NDArray[np.float64]:
        """Votes, shape (count, classes): 1 for the class that leads, zeros for an
        abstention.

        With ``is_abstain=False`` the most frequent class, whether it leads at level 1 -
        alpha or not. ``verbose`` does nothing.
        """
        sampler, votes = self._sampler(batch_size), np.zeros((len(x), self.nb_classes))
        n, alpha, scheme = self.sample_size, self.alpha, self._scheme
        for vote, row in zip(votes, x, strict=True):
            draw = self._draw()
            if options.get("is_abstain", True):
                label = procedure.predict(
                    sampler, row, scheme, n=n, alpha=alpha, **draw
                )
            else:
                generator = stream(**draw, phase=Phase.PREDICT)
                label = int(np.argmax(sampler(row, self.scale, n, generator)))
            if label != ABSTAIN:
                vote[label] = 1
        return votes

    def loss_gradient(
        self,
        x: NDArray[Any],
        y: NDArray[Any],
        *args: Any,
        sampling: bool = False,
        **options: Any,
    ) -> NDArray[Any]:
        """The loss's gradient at x; with ``sampling`` its mean over ``sample_size``
        noisy copies.

        An attack on the smoothed classifier follows that mean (expectation over
        transformations).
        """
        gradient: Any = super().loss_gradient
        if not sampling:
            return np.asarray(gradient(x, y, *args, **options))
        n, means = self.sample_size, []
        for row, label in zip(x, y, strict=True):
            generator = stream(self._seed, next(self._looks), Phase.SEARCH)
            copies = noisy(single(row), self.scale, n, generator)
            drawn = gradient(copies, np.stack([label] * n), *args, **options)
            means.append(np.mean(drawn, axis=0))
        return np.stack(means)

    def _sampler(self, batch_size: int) -> ArraySampler:
        size = count("batch_size", batch_size, 1)
        return ArraySampler(
            lambda batch: self.classifier.predict(batch, batch_size=size)
        )

    def _draw(self) -> dict[str, Any]:
        return {"seed": self._seed, "index": next(self._calls)}
