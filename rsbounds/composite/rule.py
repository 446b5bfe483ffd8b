"""Conditions and decision lists: a composite classifier in a form a file can hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rsbounds._numerics.checks import as_floats, as_integers, choice, count, number
from rsbounds._numerics.errors import ArgumentError

KINDS = ("score", "margin", "set")
FORMAT = 1


@dataclass(frozen=True)
class Cond:
    """One condition of a decision list: a coordinate of a class exceeds a threshold.

    With r_c = sigma Phi^-1(p_c) for the probability p_c of class c under the stage's
    noise, the coordinate is r_c ("score"), the margin (r_c - max_b r_b)/2 over the
    other classes ("margin"), or r_S for the probability of a set S of classes, the same
    for each class ("set"). None of them changes by more than the distance that the
    input moves.

    Attributes
    ----------
    kind : {"score", "margin", "set"}
        The coordinate.
    stage : int
        Which noise level, >= 0.
    threshold : float
        In the input's unit (sigma times a score), finite.
    classes : tuple of int, optional
        The set, for "set" alone: at least one class, without repetition.
    """

    kind: str
    stage: int
    threshold: float = 0.0
    classes: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        choice("kind", self.kind, KINDS)
        object.__setattr__(self, "stage", count("stage", self.stage))
        threshold = number("threshold", self.threshold)
        object.__setattr__(self, "threshold", threshold)
        if (self.kind == "set") != (self.classes is not None):
            shown = "none" if self.classes is None else self.classes
            raise ArgumentError(
                "classes", f"must be given for kind 'set' alone; got {shown}"
            )
        if self.classes is not None:
            classes = tuple(as_integers("classes", self.classes).ravel().tolist())
            if not classes or len(set(classes)) < len(classes):
                raise ArgumentError(
                    "classes", f"must be different, at least one; got {classes}"
                )
            object.__setattr__(self, "classes", classes)

    @property
    def exclusive(self) -> bool:
        """Whether it can hold for one class at most."""
        return self.kind != "set" and self.threshold >= 0.0


@dataclass(frozen=True)
class Rule:
    """A decision list over several noise levels.

    A class fires at an item if all the item's conditions hold for it; the first item at
    which a class fires decides, and without one the classifier abstains.

    Attributes
    ----------
    sigmas : sequence of float
        Noise level of each stage, > 0 and finite.
    items : sequence of sequences of Cond
        Each with a "score" or a "margin" condition of threshold >= 0, so that at most
        one class fires.

    Examples
    --------
    Argmax at level 1 unless no class is likely there; then argmax at level 1/2:

    >>> from rsbounds.composite import Cond, Rule
    >>> gate = [Cond("margin", 0), Cond("score", 0, -0.3)]
    >>> rule = Rule([1.0, 0.5], [gate, [Cond("margin", 1)]])
    >>> Rule.from_dict(rule.to_dict()) == rule
    True
    """

    sigmas: Sequence[float]
    items: Sequence[Sequence[Cond]]

    def __post_init__(self) -> None:
        sigmas = as_floats("sigmas", self.sigmas, 0.0, closed="neither", nan=False)
        if sigmas.ndim != 1 or not sigmas.size:
            raise ArgumentError(
                "sigmas", f"must be a list of noise levels; got shape {sigmas.shape}"
            )
        items = _checked_items(self.items, levels=sigmas.size)
        object.__setattr__(self, "sigmas", tuple(sigmas.tolist()))
        object.__setattr__(self, "items", items)

    @property
    def least_classes(self) -> int:
        """The number of classes that its sets need."""
        sets = [q.classes for item in self.items for q in item if q.classes]
        return max((max(classes) + 1 for classes in sets), default=2)

    def to_dict(self) -> dict[str, Any]:
        """The rule as JSON can hold it."""

        items = [[_entry(q) for q in item] for item in self.items]
        return {"format": FORMAT, "sigmas": list(self.sigmas), "items": items}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Rule:
        """The rule that :meth:`to_dict` wrote, or ValueError."""
        keys = {"format", "sigmas", "items"}
        # files that were fitted say to what
        names = set(data) - {"fitted"} if isinstance(data, Mapping) else None
        if names != keys or data["format"] != FORMAT:
            raise ArgumentError(
                "data",
                f"of a rule must be an object with {sorted(keys)}, format {FORMAT}; "
                f"got {data!r:.80}",
            )
        try:
            items = [[Cond(**q) for q in item] for item in data["items"]]
        except TypeError:
            raise ValueError(
                "a rule's items must be lists of conditions with kind, stage, "
                f"threshold and, for sets, classes; got {data['items']!r:.80}"
            ) from None
        return cls(data["sigmas"], items)


def _checked_items(items: Any, levels: int) -> tuple[tuple[Cond, ...], ...]:
    """The items of a rule over so many levels, or ValueError."""
    try:
        checked = tuple(tuple(item) for item in items)
    except TypeError:
        raise ArgumentError(
            "items", f"must be lists of conditions; got {items!r:.60}"
        ) from None
    if not checked:
        raise ArgumentError("items", "must hold at least one item; got none")
    for i, item in enumerate(checked):
        name = f"items[{i}]"
        for q in item:
            if not isinstance(q, Cond):
                raise ArgumentError(name, f"must hold conditions; got {q!r}")
            if not q.stage < levels:
                raise ArgumentError(
                    name, f"must have stages of {levels} levels; got stage {q.stage}"
                )
        if not any(q.exclusive for q in item):
            raise ArgumentError(
                name,
                "must be exclusive: a 'score' or 'margin' condition with threshold "
                ">= 0; got none, so that two classes could fire at once",
            )
    return checked


def _entry(q: Cond) -> dict[str, Any]:
    """A condition as JSON can hold it."""
    entry: dict[str, Any] = {
        "kind": q.kind,
        "stage": q.stage,
        "threshold": q.threshold,
    }
    if q.classes is not None:
        entry["classes"] = list(q.classes)
    return entry


def checked_rule(rule: Any) -> Rule:
    """``rule``, or ValueError if it is something else."""
    if not isinstance(rule, Rule):
        raise ArgumentError(
            "rule", f"must be a rsbounds.composite.Rule; got {type(rule).__name__}"
        )
    return rule
