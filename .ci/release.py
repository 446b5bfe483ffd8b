"""A release: `python .ci/release.py 0.2.0` sets version and date, commits and tags."""

from __future__ import annotations

import re
import subprocess
import sys
from datetime import date
from pathlib import Path

ROOT = Path(__file__).parent.parent
#: Where the version stands, and how.
PLACES = {
    "rsbounds/__init__.py": r'(?<=^__version__ = ")[\d.]+(?="$)',
    "CITATION.cff": r"(?<=^version: )[\d.]+$",
    ".ci/recipe/recipe.yaml": r'(?<=^  version: ")[\d.]+(?="$)',
}
HEADING = r"^## (?:\[[\d.]+\] - unreleased|\[unreleased\])$"  # of CHANGELOG.md


def git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"git {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout.strip()


def number(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def main(words: list[str]) -> None:
    if len(words) != 1 or not re.fullmatch(r"\d+\.\d+\.\d+", words[0]):
        raise SystemExit("usage: python .ci/release.py MAJOR.MINOR.PATCH")
    (version,) = words
    if git("status", "--porcelain"):
        raise SystemExit("there are changes that are not committed: commit them first")
    if git("tag", "--list", f"v{version}"):
        raise SystemExit(f"the tag v{version} exists already")
    texts = {
        name: (ROOT / name).read_text(encoding="utf-8")
        for name in (*PLACES, "CHANGELOG.md")
    }
    for name, pattern in PLACES.items():
        (before,) = re.findall(pattern, texts[name], re.M)
        if number(version) < number(before):
            raise SystemExit(f"{version} is below {before}, the version of {name}")
        texts[name] = re.sub(pattern, version, texts[name], count=1, flags=re.M)
    heading = f"## [{version}] - {date.today().isoformat()}"
    texts["CHANGELOG.md"], found = re.subn(
        HEADING, heading, texts["CHANGELOG.md"], flags=re.M
    )
    if found != 1:
        raise SystemExit("CHANGELOG.md must have one section that is unreleased")
    for name, text in texts.items():
        (ROOT / name).write_text(text, encoding="utf-8")
    git("commit", "-qam", f"Release {version}")
    git("tag", "-a", f"v{version}", "-m", f"rsbounds {version}")
    print(f"tagged v{version}; now: git push origin main v{version}")


if __name__ == "__main__":
    main(sys.argv[1:])
