"""A run that is committed to before its first sample.

What is known of it then is written beside the result file, always as the same text: whoever has
the SHA-256 of that text sees whether a later manifest is the one that was committed.
"""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

from rsbounds.results._file import _replace
from rsbounds.results._manifest import Manifest

# what only the samples show, or what doesn't change rows
_LATER = ("history", "probe", "run", "shard")


def commitment_path(path: Path) -> Path:
    """Where the commitment to a result file lies.

    Parameters
    ----------
    path : Path
        The result file.

    Examples
    --------
    >>> commitment_path(Path("run.tsv")).name
    'run.tsv.commitment.json'
    """
    return path.with_name(path.name + ".commitment.json")


def commitment(manifest: Manifest) -> str:
    """The text that is committed to."""
    entries = json.loads(manifest.text())  # as a file holds them: lists for tuples
    for name in _LATER:
        del entries[name]
    entries["engine"].pop("tf32", None)
    return json.dumps(entries, indent=2, sort_keys=True) + "\n"


def digest(text: str) -> str:
    """SHA-256 of a text, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


def commit(path: Path, manifest: Manifest, *, new: bool, accept: bool) -> dict[str, str]:
    """Write the commitment if ``new``, or compare one that is there: the entry of ``run``.

    ``accept`` keeps one that differs, of which an audit tells.
    """
    place, text = commitment_path(path), commitment(manifest)
    entry = {"commitment": digest(text)}
    if place.exists():
        there = digest(place.read_text(encoding="utf-8", errors="replace"))
        if there != entry["commitment"] and not accept:
            raise ValueError(
                f"{place} commits to another run: repeat that run's arguments, or choose another "
                "output file"
            )
        return {"commitment": there}
    if not new:
        return {}
    if (
        path.exists()
        and path.stat().st_size
        and Manifest.read(path).run.get(*entry) != digest(text)
    ):
        raise ValueError(f"{path} was begun without a commitment: choose another output file")
    _replace(place, text)
    return entry


def broken(manifest: Manifest) -> Iterator[str]:
    """What is wrong with a manifest that says it was committed."""
    own = manifest.run.get("commitment")
    if own is not None and own != (now := digest(commitment(manifest))):
        yield f"is not the run that was committed as {own!r:.80}: its manifest gives {now}"
