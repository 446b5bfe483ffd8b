"""The sampler of a model under noise, whatever framework it is of.

It holds each rule once: blocks of noise, looks at rows, votes by a margin, comparison
with other settings. Bits, arrays and the forward pass are those of a
:class:`rsbounds.sampling.port.Backend`; what a call returns is that of a
:class:`rsbounds.sampling.questions.Question`.

A certificate needs samples that are independent of each other, of one function. At the
first block of two rows or more, and at one in 1024 from then on, the scores of a row
among others are compared with its scores among copies of itself, and those of a row of
the call's first block with what they were. They may differ by eps^(2/3), relative to
the largest (2.4e-5 in float32): another order of summation passes, batch statistics
don't.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import partial
from typing import Any, Self

import numpy as np

from rsbounds._numerics.checks import Array, count, instance
from rsbounds._numerics.checks import number as one_number
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.rounding import apart, require_scored_alone
from rsbounds.noises import Noise
from rsbounds.sampling.disagreements import disagreement, foreseen, refusal
from rsbounds.sampling.margins import FEW, Difference, Watch
from rsbounds.sampling.port import Backend, SamplerCall, Seen
from rsbounds.sampling.questions import Question
from rsbounds.sampling.streams import Stream
from rsbounds.sampling.system_bits import (
    Randomness,
    SystemBits,
    require_system_noise,
)

# A look at a block costs two forward passes: at one in 1024 a fifth of a percent.
_LOOKS = 2**32 // 1024
# numbers k become k _SPREAD mod 2^32: one-to-one, as it is odd, and spread evenly
_SPREAD = 0x9E3779B1


class ModelSampler:
    """A sampler (:class:`rsbounds.sampling.Sampler`) over a model.

    Parameters
    ----------
    backend : Backend
        The model, and the noise on its inputs.
    question : Question
        What a call returns.
    """

    #: A sample counts only if its largest score leads the second by more than this.
    margin: float | None = None
    #: Shown each block and its scores, to compare them with those of another setting.
    watch: Watch | None = None

    def __init__(self, backend: Backend, question: Question) -> None:
        self.backend = backend
        self.question = question
        self._blocks = 0
        self._rows_checked = False
        self._answered: tuple[int, ...] | None = None  # the shape of its last inputs

    @property
    def noise(self) -> Noise:
        """The law of the copies."""
        return self.backend.noise

    @property
    def law(self) -> str:
        """Names the noise; "" is sigma N(0, I)."""
        return self.backend.noise.law

    @property
    def takes_system_bits(self) -> bool:
        """Whether the bits of its noise may be those of the operating system."""
        return self.backend.noise.of_bits

    @property
    def queues(self) -> bool:
        """Whether a device is at work on samples after the call for them."""
        return self.backend.queues

    @property
    def kind(self) -> str:
        """What is asked: "votes", "scores", "values" or "maps"."""
        return self.question.kind

    def __call__(self, x: Any, sigma: float, n: int, generator: Randomness) -> Any:
        """What the model returns for n noisy copies of an input, as it is asked for."""
        call = self._begun(x, sigma, n, generator)
        self.backend.run(call, partial(self._read, call))
        return self.backend.arrays.on_demand(call.total)

    def with_margin(self, margin: float) -> Self:
        """A copy whose votes are void unless they lead by the margin."""
        other = copy.copy(self)
        other.margin = margin
        return other

    def compared(
        self, x: Any, sigma: float, n: int, generator: Randomness
    ) -> Difference:
        """The scores of n samples beside those of other settings.

        These are batches of 7 rows, and those of the framework. NumPy: another number
        of BLAS's threads, where the package ``threadpoolctl`` is there to change it,
        and float64, where the classifier answers inputs of that type in it; a
        function's own arithmetic can't be changed from outside. torch: on a CPU one
        thread, or several where one is usual; not compiled, where the model is; and a
        copy of the model in float64 on the same noisy inputs, without mixed precision
        (on the CPU, where the device has no float64).
        """
        difference = Difference(margin=self.margin or 0.0)
        settings = self.backend.other_settings()
        floats = self.backend.arrays.as_floats

        def watch(block: Any, outputs: Any) -> None:
            scores: Array = floats(outputs)  # the model may write over its own
            pieces = self.backend.pieces(block, FEW)
            few = [floats(self._outputs(piece)) for piece in pieces]
            difference.add(scores, np.concatenate(few), f"batches of {FEW}")
            for setting in settings:
                name, others = setting(block)
                if name:
                    difference.add(scores, others, name)

        twin = copy.copy(self)
        twin.watch = watch
        twin(x, sigma, n, generator)
        return difference

    def _begun(
        self, x: Any, sigma: float, n: int, generator: Randomness
    ) -> SamplerCall:
        """A call whose arguments are checked."""
        noise = self.backend.noise
        n = count("n", n, 1)
        if isinstance(generator, SystemBits):
            require_system_noise(self)
        else:
            generators = "a generator, such as numpy.random.default_rng(0)"
            instance("generator", generator, np.random.Generator, generators)
        if noise.level is not None and one_number("sigma", sigma) != noise.level:
            raise ArgumentError(
                "sigma", f"must be the level of the noise, {noise.level}; got {sigma}"
            )
        if noise.outcomes is not None and n not in (noise.outcomes, noise.choosing):
            raise ArgumentError(
                "n",
                "must be the number of outcomes of the noise, "
                f"{noise.outcomes}, each of which is gone through once; got {n}",
            )
        checked = noise.checked(x)
        size = self.backend.block_size(n, noise.numbers(checked))
        return SamplerCall(checked, sigma, n, size, -(-n // size), generator)

    def _read(self, call: SamplerCall, blocks: Sequence[Any], void: Any) -> None:
        """Add what the model returns for further blocks of a call."""
        outputs = []
        for number, block in enumerate(blocks, start=call.done):
            outputs += self._returned(block, number, call)
        left = call.n - call.done * call.size  # the last block may hold more
        arrays = self.backend.arrays
        scores = outputs[0] if len(outputs) == 1 else arrays.joined(outputs)
        call.total = self.question.added(
            call.total, scores[:left], void[:left], self.margin, arrays
        )
        call.done += len(blocks)

    def _returned(self, block: Any, number: int, call: SamplerCall) -> list[Any]:
        """What the model returns for the parts of a block, some of them looked at."""
        arrays = self.backend.arrays
        self._blocks += 1
        # the blocks at which a look is due are spread evenly
        due = self._blocks * _SPREAD % 2**32 < _LOOKS
        to_watch = None if self.watch is None else self.backend.copied(block)
        outputs: list[Any] = []
        for part in self.backend.parts(block):
            middle = len(part) // 2
            # Of several blocks the first is kept, to be compared with later ones.
            # Copies: the model may change its batch, or write over its outputs.
            unseen = call.first is None and call.size < call.n
            row = self.backend.row_of(part, middle) if unseen else None
            if len(part) > 1 and (due or not self._rows_checked):
                outputs.append(self._looked_at(part, number, call))
                due = False
            else:
                outputs.append(self._outputs(part))
            if row is not None:
                first = arrays.copied(outputs[-1][middle])
                call.first = Seen(row, first, len(part))
        if self.watch is not None:
            self.watch(to_watch, arrays.joined(outputs))
        return outputs

    def _outputs(self, batch: Any) -> Any:
        """What the model returns for a batch, checked."""
        rows = len(batch)
        returned = self._forward(batch)
        return self.question.checked(returned, rows, self.backend.arrays)

    def _forward(self, batch: Any) -> Any:
        """What the model returns; a new shape that it fails for is said, both sides."""
        shape = tuple(getattr(batch, "shape", ()))
        if shape[1:] != self._answered and (
            text := foreseen(self.backend.subject, batch)
        ):
            raise ArgumentError("x", text)
        try:
            returned = self.backend.forward(batch)
        except (RuntimeError, IndexError, ValueError, AssertionError) as error:
            if isinstance(error, ArgumentError) or self.backend.is_of_memory(error):
                raise
            if text := disagreement(self.backend.subject, batch, error):
                raise ArgumentError("x", text) from error
            if shape[1:] != self._answered:
                subject, again = (
                    self.backend.subject,
                    partial(self.backend.forward, batch),
                )
                if text := refusal(subject, batch, error, again):
                    raise ArgumentError("x", text) from error
                error.add_note(f"for a batch of shape {shape}")
            raise
        self._answered = shape[1:]
        return returned

    def _looked_at(self, batch: Any, number: int, call: SamplerCall) -> Any:
        """What the model returns for a batch, if it looks at each row alone.

        All batches but that of a shorter sequence are of one shape, so that the same
        kernels run and nothing is compiled again.
        """
        arrays = self.backend.arrays
        place = _place_of(call.generator, number)
        rows = len(batch)
        # before the model sees the batch itself, which it may change
        row = self.backend.row_of(batch, rows // 2)
        alone = self._of_copies(row, rows)
        written = self.backend.as_written(batch)
        # copied: the next pass may write over it
        outputs = arrays.copied(self._outputs(batch))
        among = arrays.as_floats(outputs[rows // 2])
        eps = arrays.eps(outputs)
        require_scored_alone(alone, among, rows, eps, "row", place)
        if written is not None:
            _require_same_scores(
                arrays.as_floats(self.question.checked(written, rows, arrays)),
                arrays.as_floats(outputs),
                self.backend.eps(outputs),
                place,
            )
        short = self.backend.without_padding(row)
        if short is not None:
            alone = self._of_copies(short, rows)
            _require_same_sequence(alone, among, eps, place)
        self._rows_checked = True
        if call.first is not None and call.first.rows == rows:
            again = self._of_copies(call.first.row, rows)
            before = arrays.as_floats(call.first.outputs)
            _require_same_function(before, again, eps, place)
        return outputs

    def _of_copies(self, row: Any, rows: int) -> Array:
        """What the model returns for the middle one of so many copies of a row."""
        outputs = self._outputs(self.backend.repeated(row, rows))
        floats: Array = self.backend.arrays.as_floats(outputs[rows // 2])
        return floats


# --- looks


def _place_of(generator: Randomness, number: int) -> str:
    """Which block of which input, as far as the stream tells."""
    if isinstance(generator, Stream | SystemBits):
        return f", at block {number} of input {generator.index}"
    return f", at block {number}"


def _require_same_scores(written: Array, run: Array, eps: float, place: str) -> None:
    """ValueError if a compiled model scores rows otherwise than as it was given."""
    gaps = [apart(*rows, eps) for rows in zip(run, written, strict=True)]
    if any(gaps):
        raise ValueError(
            "the model must have the same scores when it is compiled; those of "
            f"{np.count_nonzero(gaps)} rows of {len(gaps)} differ by up to "
            f"{max(gaps):.3g} from the scores of the model as it was given{place}: "
            "leave out compile=True"
        )


def _require_same_sequence(short: Array, padded: Array, eps: float, place: str) -> None:
    """ValueError if a sequence's scores depend on the padding behind it.

    How long that is tells the length of the input, which a function of what is left of
    it does not know.
    """
    gap = apart(short, padded, eps)
    if gap:
        raise ValueError(
            "the model must not see how much padding stands behind a sequence; the "
            f"scores of a row differ by {gap:.3g} with less of it{place} (give its "
            "forward an attention_mask, or the noise the model's padding)"
        )


def _require_same_function(before: Array, again: Array, eps: float, place: str) -> None:
    """ValueError if a row's scores aren't those that it had before."""
    gap = apart(before, again, eps)
    if gap:
        raise ValueError(
            "the model must be one function of its input; the scores of a row of the "
            f"first block differ by {gap:.3g} when it is asked again{place} (a state "
            "that calls change?)"
        )
