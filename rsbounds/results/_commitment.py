"""The commitment to a run: its manifest as text, written before the first sample."""

import hashlib
from pathlib import Path

from rsbounds._numerics.files import content_of, replace_file
from rsbounds._numerics.json_files import parsed
from rsbounds.results._manifest import Manifest, commitment_path


def digest(content: bytes) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def commit(path: Path, manifest: Manifest, *, accept: bool) -> dict[str, str]:
    """Write the commitment, or compare the one that is there.

    Returns the entry of ``run``.

    ``accept`` keeps one that differs, of which an audit tells.
    """
    place = commitment_path(path)
    text = manifest.commitment()
    hash_of_text = digest(text.encode())
    if place.exists():
        there = digest(content_of(place))
        if there != hash_of_text and not accept:
            _require_commitment(place)
            raise ValueError(
                f"{place} commits to another run: repeat that run's arguments, or "
                "choose another output file"
            )
        return {"commitment": there}
    begun = path.exists() and path.stat().st_size
    if begun and Manifest.read(path).run.get("commitment") != hash_of_text:
        raise ValueError(
            f"{path} was begun without a commitment: choose another output file"
        )
    replace_file(place, text)
    return {"commitment": hash_of_text}


def _require_commitment(place: Path) -> None:
    """ValueError for a file that is no commitment, to whatever run."""
    try:
        entries = parsed(content_of(place))
    except ValueError:
        entries = {}
    if not {"data", "answer"} <= entries.keys():
        raise ValueError(
            f"{place} is damaged: it is no commitment; put the published one in its "
            "place, or choose another output file"
        )
