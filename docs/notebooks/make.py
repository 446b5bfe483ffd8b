"""Makes the notebooks of this folder from pages of the documentation.

    python docs/notebooks/make.py             # the notebooks
    python docs/notebooks/make.py --pictures  # runs them too, for their pictures

The pages are the source. A session of Python becomes cells, without its prompts and
outputs; a file with its name in front ``%%writefile``; a block of bash ``%%bash``.
What a page says of itself stands between ``<!-- page -->`` and ``<!-- end of page -->``
is left out. Notebooks are kept without outputs: whoever runs one sees those of theirs.
It needs jupytext, and for the pictures nbclient and ipykernel.
"""

from __future__ import annotations

import argparse
import base64
import doctest
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
DOCS = FOLDER.parent
#: Notebook -> the page that it is made from, and the extras that it installs.
SOURCES = {
    "radius-math": ("tutorials/radius-math.md", "plot"),
    "five-minutes": ("howto/five-minutes.md", "demo,verify"),
    "first-hour": ("tutorials/first-hour.md", "demo,verify"),
    "segment-shapes": ("tutorials/segment-shapes.md", "demo,verify"),
}
FRONT = re.compile(r"\A(<!-- \w+: .* -->\n)+")
PAGE_ALONE = re.compile(r"^<!-- page -->\n.*?^<!-- end of page -->\n", re.M | re.S)
BLOCK = re.compile(r"^```(\S[^\n]*)\n(.*?)^```\n", re.M | re.S)
#: The line in front of a file's block.
CAPTION = re.compile(r"\*\*(\S+\.\w+)\*\*\n\n\Z")
#: A picture, which the cell before it draws.
PICTURE = re.compile(r"^!\[[^\]]*\]\([^)]*\)\n+", re.M)
LINK = re.compile(r"(\[[^\]]*\])\(([^)\s:]+)\)")  # none to another site

ABOUT = """
*Made from [a page of the documentation]({page}). The next cell installs rsbounds where
it is missing: a wheel `rsbounds-*.whl` that lies beside this notebook, or else the
clone that the notebook is part of.*
"""
INSTALL = """
import importlib.util
from pathlib import Path

here = Path().resolve()
if importlib.util.find_spec("rsbounds") is None:
    wheels = sorted(here.glob("rsbounds-*.whl"))
    clones = [folder for folder in here.parents if (folder / "rsbounds_ext").is_dir()]
    if not wheels + clones:
        raise RuntimeError("put a wheel rsbounds-*.whl beside this notebook")
    place = f"{(wheels[-1:] + clones)[0]}[EXTRAS]"
    %pip install --quiet "{place}"
"""
COMMANDS = """
import os
import sys

# the commands below are those of this Python
os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
"""


def notebook(name: str) -> Any:
    """The notebook of that name, made from its page: a ``NotebookNode``."""
    import jupytext
    from nbformat.v4 import new_notebook

    text = as_jupytext(name)
    read = jupytext.reads(text, fmt={"extension": ".md", "split_at_heading": True})
    filled = [cell for cell in read.cells if cell.source.strip()]
    made = new_notebook(cells=filled)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    made.metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    for number, cell in enumerate(made.cells, start=1):
        cell.id = f"cell-{number}"  # not a random one: the same page, the same file
        cell.source = cell.source.strip("\n")
        cell.metadata = {}
    return made


def as_json(made: Any) -> str:
    """A notebook as its file holds it."""
    import nbformat

    return nbformat.writes(made).rstrip("\n") + "\n"


def as_jupytext(name: str) -> str:
    """The page in jupytext's Markdown, where each fence of Python or bash is a cell."""
    place, extras = SOURCES[name]
    page = DOCS / place
    text = PAGE_ALONE.sub("", FRONT.sub("", page.read_text(encoding="utf-8")))
    title, _, body = text.lstrip().partition("\n")
    install = INSTALL.replace("EXTRAS", extras)
    if "\n```bash\n" in body:
        install += COMMANDS
    about = ABOUT.format(page=from_here(page))
    return "\n".join([title, about, fenced("python", install), *parts(body, page)])


def parts(body: str, page: Path) -> Iterator[str]:
    """Prose and cells of a page in their order."""
    end = 0
    follows_cell = False
    for block in BLOCK.finditer(body):
        before = PICTURE.sub("", body[end : block.start()])
        caption = CAPTION.search(before)
        prose = relinked(CAPTION.sub("", before), page)
        end = block.end()
        if prose.strip():
            follows_cell = False
            yield prose
        name = caption[1] if caption else ""
        made = "".join(cells(block[1], block[2], name, follows_cell=follows_cell))
        follows_cell |= made.startswith("```")
        yield made
    yield relinked(PICTURE.sub("", body[end:]), page)


def cells(info: str, body: str, file: str, *, follows_cell: bool) -> Iterator[str]:
    """What a fenced block of a page becomes: cells, a listing, or nothing."""
    if file:
        yield fenced("python", f"%%writefile {file}\n{body}")
    elif info == "python":
        for source in sessions(body):
            yield fenced("python", source)
    elif info == "bash":
        yield fenced("python", f"%%bash -e\n{body}")
    elif info == "text" and follows_cell:
        return  # what the cell prints
    elif info in ("sh", "text"):
        yield f"~~~{info}\n{body}~~~\n"  # a listing: jupytext runs what is in backticks
    else:
        raise ValueError(f"a block of {info} has no place in a notebook")


def sessions(body: str) -> Iterator[str]:
    """The sources of a doctest; a cell ends where a value is shown."""
    sources = []
    for example in doctest.DocTestParser().get_examples(body):
        is_definition = example.source.startswith(("def ", "class ", "@"))
        sources.append(f"\n{example.source}\n" if is_definition else example.source)
        if example.want:
            yield "".join(sources)
            sources = []
    if sources:
        yield "".join(sources)


def fenced(language: str, body: str) -> str:
    return f"```{language}\n{body.strip()}\n```\n\n"


def relinked(prose: str, page: Path) -> str:
    """The prose with its links to other pages as they are from this folder."""

    def link(found: re.Match[str]) -> str:
        target, anchor, place = found[2].partition("#")
        file = page.parent / target if target else page
        return f"{found[1]}({from_here(file)}{anchor}{place})"

    return LINK.sub(link, prose)


def from_here(file: Path) -> str:
    """The path of a file from this folder, as links have it."""
    return Path(os.path.relpath(file, FOLDER)).as_posix()


def execute(made: Any, folder: str | os.PathLike[str], *, timeout: int = 300) -> None:
    """Run a notebook's cells in a folder, where it leaves its files."""
    from nbclient import NotebookClient

    resources = {"metadata": {"path": str(folder)}}
    client = NotebookClient(
        made,
        timeout=timeout,
        kernel_name="python3",
        coalesce_streams=True,
        resources=resources,
    )
    client.execute()


def pictures(made: Any) -> Iterator[bytes]:
    """The PNG files among a notebook's outputs."""
    for cell in made.cells:
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            if "image/png" in data:
                yield base64.b64decode(data["image/png"])


def main() -> None:
    parser = argparse.ArgumentParser(description="make the notebooks from their pages")
    parser.add_argument("--pictures", action="store_true", help="run them as well")
    args = parser.parse_args()
    for name in SOURCES:
        made = notebook(name)
        file = FOLDER / f"{name}.ipynb"
        file.write_text(as_json(made), encoding="utf-8", newline="\n")
        if args.pictures:
            with tempfile.TemporaryDirectory() as folder:
                execute(made, folder)
            page = (DOCS / SOURCES[name][0]).read_text(encoding="utf-8")
            for number, picture in enumerate(pictures(made), start=1):
                file = FOLDER / f"{name}-{number}.png"
                if file.name in page:
                    file.write_bytes(picture)


if __name__ == "__main__":
    main()
