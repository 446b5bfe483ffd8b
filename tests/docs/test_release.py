"""What a release is made with: the script that tags it, the conda recipe, the CMake
package.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import rsbounds
import rsbounds_ext

ROOT = Path(__file__).parents[2]
RECIPE = ROOT / ".ci" / "recipe" / "recipe.yaml"
pytestmark = pytest.mark.slow  # clones, compiles, or needs packages

PROGRAM = """
#include <cstdio>
#include <rsbounds/api.hpp>

int main() {
    for (double dim : {3.0, 784.0, 3072.0, 150528.0})
        for (double x : {0.5, 1.0, 1.5})
            std::printf("%.17g\\n", rsb::api::ncx2_logsf(x * dim, dim, 0.01 * dim));
}
"""
LISTS = """
cmake_minimum_required(VERSION 3.20)
project(user LANGUAGES CXX)
find_package(rsbounds {version} REQUIRED CONFIG)
add_executable(user user.cpp)
target_link_libraries(user PRIVATE rsbounds::rsbounds)
"""


def build(folder: Path, version: str) -> subprocess.CompletedProcess[str]:
    (folder / "user.cpp").write_text(PROGRAM)
    (folder / "CMakeLists.txt").write_text(LISTS.format(version=version))
    place = f"-Drsbounds_DIR={rsbounds_ext.get_cmake_dir()}"
    words = ["cmake", "-S", ".", "-B", "build", "-DCMAKE_BUILD_TYPE=Release", place]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True)


def test_a_cpp_program_finds_the_headers_by_cmake(tmp_path):
    if shutil.which("cmake") is None or shutil.which("c++") is None:
        pytest.skip("needs CMake and a compiler")
    done = build(tmp_path, rsbounds.__version__)
    assert done.returncode == 0, done.stderr
    done = subprocess.run(
        ["cmake", "--build", "build"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout
    out = subprocess.check_output([str(tmp_path / "build" / "user")], text=True).split()
    cases = [
        (x * dim, dim, 0.01 * dim)
        for dim in (3, 784, 3072, 150528)
        for x in (0.5, 1.0, 1.5)
    ]
    want = [rsbounds.special.ncx2_logsf(*case) for case in cases]
    # the extension may run its copy for AVX2 and FMA, which differs in the last bits
    assert [float(word) for word in out] == pytest.approx(want, rel=8e-16)


def test_the_recipe_renders():
    rattler = pytest.importorskip("rattler_build")
    recipe = rattler.Stage0Recipe.from_file(str(RECIPE))
    (variant,) = recipe.render()
    assert str(variant.recipe.package.version) == rsbounds.__version__
    text = RECIPE.read_text()
    project = (ROOT / "pyproject.toml").read_text()
    for name, least in re.findall(r'"(numpy|scipy|tqdm)>=([\d.]+)"', project):
        assert f"- {name} >={least}\n" in text


@pytest.fixture
def clone(tmp_path):
    if not (ROOT / ".git").exists():
        pytest.skip("releases from a clone")
    subprocess.run(["git", "clone", "-q", str(ROOT), str(tmp_path / "c")], check=True)
    return tmp_path / "c"


def release(clone: Path, *words: str) -> subprocess.CompletedProcess[str]:
    who = {
        f"GIT_{w}_{k}": "a@b.c"
        for w in ("AUTHOR", "COMMITTER")
        for k in ("NAME", "EMAIL")
    }
    argv = [sys.executable, ".ci/release.py", *words]
    env = {**os.environ, **who}
    return subprocess.run(argv, cwd=clone, env=env, capture_output=True, text=True)


def test_a_release_is_one_command(clone):
    done = release(clone, "99.1.2")
    assert done.returncode == 0, done.stderr
    assert "git push origin main v99.1.2" in done.stdout
    for name, line in (
        ("rsbounds/__init__.py", '__version__ = "99.1.2"'),
        ("CITATION.cff", "version: 99.1.2"),
        (".ci/recipe/recipe.yaml", '  version: "99.1.2"'),
    ):
        assert line in (clone / name).read_text().splitlines()
    log = (clone / "CHANGELOG.md").read_text()
    assert re.search(r"^## \[99\.1\.2\] - \d{4}-\d\d-\d\d$", log, re.M)
    assert "unreleased" not in "".join(
        line for line in log.splitlines() if line[:3] == "## "
    )
    git = ["git", "-C", str(clone)]
    assert subprocess.check_output([*git, "describe"], text=True) == "v99.1.2\n"
    assert subprocess.check_output([*git, "status", "--porcelain"], text=True) == ""
    assert "tag v99.1.2 exists" in release(clone, "99.1.2").stderr
    assert "must have one section that is unreleased" in release(clone, "99.2.0").stderr


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ((), "usage"),
        (("1.0",), "usage"),
        (("0.0.1",), "the version of rsbounds"),
        (("99.0.0",), "commit"),
    ],
)
def test_a_release_that_can_not_be_is_refused(clone, words, problem):
    if problem == "commit":
        (clone / "README.md").write_text("changed")
    done = release(clone, *words)
    assert done.returncode == 1
    assert problem in done.stderr
    assert done.stderr.count("\n") == 1
    assert not subprocess.check_output(
        ["git", "-C", str(clone), "tag"], text=True
    ).strip()
