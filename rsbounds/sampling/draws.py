"""The samples of one input that an answer may ask for."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from rsbounds._numerics.checks import as_floats, instance
from rsbounds._numerics.errors import ArgumentError
from rsbounds.procedure import Procedure
from rsbounds.sampling.adapters import Sampler
from rsbounds.sampling.streams import Phase, stream
from rsbounds.sampling.system_bits import Randomness


class Draws:
    """What one input's samplers return, at its noise levels, phase by phase.

    A scheme of one level has one sampler and one level; a rule of several levels has
    one of each for every stage. Each phase, and each stage of it, has a random stream
    of its own: calls may come in any order, and the same call returns the same samples
    (of the operating system's noise fresh ones).

    Parameters
    ----------
    samplers : sequence of Sampler
        One for each level.
    x : array_like or Tensor
        The input, without a batch axis.
    levels : sequence of float
        The noise levels at x, > 0, in the input's unit.
    procedure : Procedure
        Its seed chooses the streams, unless these are of the operating system's bits.
    index : int
        Of the input, >= 0: it chooses the streams together with the seed.

    Attributes
    ----------
    sigma : float
        The level of the first stage.
    stages : int
        Number of levels.

    Raises
    ------
    ValueError
        Without a sampler for each level, or without a level.

    Examples
    --------
    >>> import numpy as np
    >>> from rsbounds.procedure import Procedure
    >>> from rsbounds.sampling import ArraySampler, Draws, Phase
    >>> sampler = ArraySampler(lambda batch: np.stack([batch[:, 0], -batch[:, 0]], 1))
    >>> draws = Draws([sampler], np.array([9.0, 0.0]), [1.0], Procedure())
    >>> draws(Phase.ESTIMATE, 50).tolist(), draws.sigma, draws.stages
    ([50, 0], 1.0, 1)
    """

    def __init__(
        self,
        samplers: Sequence[Sampler],
        x: Any,
        levels: Sequence[float],
        procedure: Procedure,
        index: int = 0,
    ) -> None:
        instance("samplers", samplers, Sequence, "a sequence of samplers")
        # plain numbers as they are: an engine asks for the draws of every input
        if not isinstance(levels, list | tuple) or {*map(type, levels)} != {float}:
            levels = np.ravel(as_floats("levels", levels)).tolist()
        if not len(samplers) == len(levels) >= 1:
            raise ValueError(
                "samplers must be one for each level, at least one; got "
                f"{len(samplers)} samplers and {len(levels)} levels"
            )
        self.samplers = tuple(samplers)
        self.x = x
        self.levels = tuple(levels)
        self.sigma = self.levels[0]
        self.procedure = procedure
        self.index = index

    @property
    def stages(self) -> int:
        """Number of levels."""
        return len(self.levels)

    def __call__(self, phase: Phase, n: int, stage: int | None = None) -> Any:
        """What the sampler returns for n samples of a phase.

        ``stage`` chooses sampler, level and stream in a rule of several levels; None,
        for a scheme, is the first sampler with the stream of the phase itself.
        """
        return self.more(self.generator(phase, stage), n, stage)

    def generator(self, phase: Phase, stage: int | None = None) -> Randomness:
        """The stream of a phase at its start, for callers that draw step by step."""
        return stream(self.procedure.seed, self.index, phase, stage)

    def more(self, generator: Randomness, n: int, stage: int | None = None) -> Any:
        """What the sampler returns for the next n samples of a stream."""
        place = stage or 0
        sampler: Any = self.samplers[place]
        return sampler(self.x, self.levels[place], n, generator)


class EarlyDraws(Draws):
    """The samples of one input, some of which are asked for at once.

    A device is at work on them from then on. They are those of the same calls made
    later, as each phase has a stream of its own; each is handed out once.

    Parameters
    ----------
    draws : Draws
        The samples that may be asked for.
    asked : sequence of (Phase, int)
        The phases that are asked for at once, and how many samples of each.

    Examples
    --------
    >>> import numpy as np
    >>> from rsbounds.procedure import Procedure
    >>> from rsbounds.sampling import ArraySampler, Draws, Phase
    >>> from rsbounds.sampling.internal import EarlyDraws
    >>> sampler = ArraySampler(lambda batch: np.stack([batch[:, 0], -batch[:, 0]], 1))
    >>> draws = Draws([sampler], np.array([9.0, 0.0]), [1.0], Procedure())
    >>> EarlyDraws(draws, [(Phase.ESTIMATE, 50)])(Phase.ESTIMATE, 50).tolist()
    [50, 0]
    """

    def __init__(self, draws: Draws, asked: Sequence[tuple[Phase, int]]) -> None:
        instance("draws", draws, Draws, "Draws")
        super().__init__(
            draws.samplers, draws.x, draws.levels, draws.procedure, draws.index
        )
        self._early: dict[tuple[Phase, int, int | None], Any] = {
            (phase, n, None): draws(phase, n) for phase, n in asked
        }

    def __call__(self, phase: Phase, n: int, stage: int | None = None) -> Any:
        """What the sampler returns for n samples of a phase."""
        key = phase, n, stage
        if key in self._early:
            return self._early.pop(key)
        return super().__call__(phase, n, stage)


class GrowingDraws(Draws):
    """The samples of one input, of which ever more may be asked for.

    A call for more samples of a phase than before draws only what is missing, and adds
    it to what was drawn: samplers return counts. A call for as many as before returns
    what was returned then.

    Parameters
    ----------
    draws : Draws
        The samples that may be asked for.

    Examples
    --------
    >>> import numpy as np
    >>> from rsbounds.procedure import Procedure
    >>> from rsbounds.sampling import ArraySampler, Draws, Phase
    >>> from rsbounds.sampling.internal import GrowingDraws
    >>> sampler = ArraySampler(lambda batch: np.stack([batch[:, 0], -batch[:, 0]], 1))
    >>> draws = Draws([sampler], np.array([9.0, 0.0]), [1.0], Procedure())
    >>> growing = GrowingDraws(draws)
    >>> [growing(Phase.ESTIMATE, n).tolist() for n in (10, 50, 10)]
    [[10, 0], [50, 0], [10, 0]]
    """

    def __init__(self, draws: Draws) -> None:
        instance("draws", draws, Draws, "Draws")
        super().__init__(
            draws.samplers, draws.x, draws.levels, draws.procedure, draws.index
        )
        self._streams: dict[tuple[Phase, int | None], Randomness] = {}
        self._returned: dict[tuple[Phase, int | None], dict[int, Any]] = {}

    def __call__(self, phase: Phase, n: int, stage: int | None = None) -> Any:
        """What the sampler returns for the first n samples of a phase.

        ValueError for fewer than were drawn, unless as many were asked for before.
        """
        key = phase, stage
        returned = self._returned.setdefault(key, {})
        if n in returned:
            return returned[n]
        drawn = max(returned, default=0)
        if n < drawn:
            raise ArgumentError(
                "n", f"must be at least {drawn}, already drawn; got {n}"
            )
        generator = self._streams.setdefault(key, self.generator(phase, stage))
        counts = self.more(generator, n - drawn, stage)
        if drawn:
            counts = np.asarray(returned[drawn]) + np.asarray(counts)
        returned[n] = counts
        return counts
