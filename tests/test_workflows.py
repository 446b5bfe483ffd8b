"""The workflows on GitHub: YAML that holds together, and the commands that CI runs here."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

yaml = pytest.importorskip("yaml")
ROOT = Path(__file__).parent.parent
FILES = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
WORKFLOWS = {path.stem: yaml.safe_load(path.read_text()) for path in FILES}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def jobs() -> list[Any]:
    return [
        pytest.param(job, id=f"{name}-{key}")
        for name, workflow in WORKFLOWS.items()
        for key, job in workflow["jobs"].items()
    ]


def blocks(page: str) -> list[list[str]]:
    """The commands of each bash block of a page."""
    text = (ROOT / page).read_text()
    found = re.findall(r"^```bash\n(.*?)^```$", text, re.M | re.S)
    return [[line for line in block.splitlines() if line[0] != "#"] for block in found]


def runs(name: str) -> list[list[str]]:
    """The lines of each command step of a workflow."""
    steps = [step for job in WORKFLOWS[name]["jobs"].values() for step in job["steps"]]
    return [step["run"].splitlines() for step in steps if "run" in step]


def test_there_are_three():
    assert set(WORKFLOWS) == {"tests", "docs", "wheels"}


@pytest.mark.parametrize("name", WORKFLOWS)
def test_workflow_has_what_it_needs(name):
    workflow = WORKFLOWS[name]
    # YAML 1.1 reads the key "on" as true
    assert set(workflow) <= {"name", True, "permissions", "concurrency", "jobs"}
    assert workflow["name"] == name
    assert "workflow_dispatch" in workflow[True]
    assert workflow["permissions"] == {"contents": "read"}


@pytest.mark.parametrize("job", jobs())
def test_job_has_what_it_needs(job):
    known = {"name", "if", "needs", "runs-on", "permissions", "environment", "timeout-minutes"}
    assert set(job) <= {*known, "strategy", "env", "steps"}
    matrix = job.get("strategy", {}).get("matrix", {})
    used = re.findall(r"matrix\.(\w+)", yaml.safe_dump(job))
    assert set(used) == set(matrix)
    assert job["runs-on"] == ("${{ matrix.os }}" if "os" in matrix else "ubuntu-latest")
    for step in job["steps"]:
        assert ("uses" in step) != ("run" in step)
        assert set(step) <= {"id", "name", "uses", "with", "run", "shell", "env"}
        assert re.fullmatch(r"[\w-]+/[\w-]+@v\d+(\.\d+\.\d+)?", step.get("uses", "a/b@v1"))


def test_tests_are_ci_run_and_the_readme_s_block():
    assert runs("tests")[:2] == [["bash .ci/run"], blocks("README.md")[1]]
    assert (ROOT / ".ci" / "run").is_file()


def test_oldest_versions_are_those_the_project_allows():
    _, _, (install, pytest_) = runs("tests")
    lowest = {r.replace(">=", "==") for r in PROJECT["dependencies"]}
    given = {word.removesuffix(".0") for word in shlex.split(install) if "==" in word}
    assert given == lowest
    files = [word for word in shlex.split(pytest_) if word.startswith("tests/")]
    assert all((ROOT / file).is_file() for file in files)


def test_docs_are_contributing_s_block():
    (own,) = runs("docs")
    assert own in blocks("CONTRIBUTING.md")
    upload = next(
        s for s in WORKFLOWS["docs"]["jobs"]["build"]["steps"] if "path" in s.get("with", "")
    )
    assert upload["with"]["path"] == shlex.split(own[-1])[-1]


def test_versions_are_those_of_the_project():
    classifiers = "\n".join(PROJECT["classifiers"])
    versions = re.findall(r"Python :: (3\.\d+)", classifiers)
    assert WORKFLOWS["tests"]["jobs"]["tests"]["strategy"]["matrix"]["python"] == versions
    (build,) = (
        step["env"]
        for step in WORKFLOWS["wheels"]["jobs"]["wheels"]["steps"]
        if "cibuildwheel" in step.get("uses", "")
    )
    tags = [f"cp{version.replace('.', '')}-*" for version in versions]
    assert build["CIBW_BUILD"].split() == tags
    assert PROJECT["requires-python"] == f">={versions[0]}"


def test_command_that_tests_a_wheel_passes_here():
    steps = WORKFLOWS["wheels"]["jobs"]["wheels"]["steps"]
    (command,) = (s["env"]["CIBW_TEST_COMMAND"] for s in steps if "env" in s)
    python, *words = shlex.split(command)
    assert python == "python"
    subprocess.run([sys.executable, *words], check=True)
