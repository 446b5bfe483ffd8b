"""The package as a whole: what may import what, what loads when, one version, two README blocks."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest
from build import ProjectBuilder
from build.env import DefaultIsolatedEnv

import rsbounds

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "rsbounds"
EXT = ROOT / "rsbounds_ext"

# The rooms, each with what it may import besides itself: imports only go up this list.
ROOMS: dict[str, str] = {
    "_numerics": "",
    "oracle": "",
    "special": "_numerics",
    "stats": "_numerics special",
    "confidence": "_numerics special",
    "_neighbours": "_numerics",
    "gaussian": "_numerics special",
    "anisotropic": "_numerics special",
    "renyi": "_numerics special",
    "lbrs": "_numerics special _neighbours",
    "envelope": "_numerics special",
    "semielastic": "_numerics special _neighbours envelope",
    "lipschitz": "_numerics special envelope",
    "certificate": "_numerics confidence",
    "sampling": "_numerics confidence",
    "composite": "THEORIES certificate sampling",
    "schemes": "THEORIES certificate sampling composite",
    "certify": "THEORIES certificate sampling schemes composite results loading",
    "results": "_numerics confidence certificate",
    "report": "results",
    "loading": "_numerics sampling",
    "cluster": "_numerics certify",
    "torch": "THEORIES certificate sampling schemes certify",
    "datasets": "_numerics",
    "bench": "_numerics special",
    "demo": "THEORIES certificate sampling schemes composite certify results torch datasets",
    "cli": "THEORIES certificate sampling schemes composite certify results loading cluster torch "
    "oracle demo bench",
    "_numba": "special",
    "__main__": "cli",
    "__init__": "",
}
THEORIES = (
    *("_numerics", "special", "confidence", "_neighbours", "gaussian", "anisotropic", "renyi"),
    *("lbrs", "envelope", "semielastic", "lipschitz"),
)
#: Imports that go up, inside a function: what a port knows of its adapters.
UPWARD = {"sampling/adapters.py": {"torch"}}
ALLOWED: dict[str, set[str]] = {
    room: set(may.replace("THEORIES", " ".join(THEORIES)).split()) for room, may in ROOMS.items()
}
HEAVY = {"torch", "numba", "llvmlite", "matplotlib", "plotly", "mlxtend", "tqdm", "mpmath", "flint"}
HEAVY |= {"ray"}
AT_HOME = {
    "loading": {"torch"},  # classifier.py, imported when a model is a torch module
    "torch": {"torch", "tqdm"},
    "demo": {"torch"},
    "_neighbours": {"numba", "llvmlite"},
    "_numba": {"numba", "llvmlite"},
    "oracle": {"mpmath"},
}


def sources() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported(path: Path, *, on_import: bool = False) -> set[str]:
    """Dotted names that a file imports; ``on_import``: only those run when it is imported."""
    tree = ast.parse(path.read_text())
    nodes: list[ast.AST] = [tree]
    names = set()
    while nodes:
        node = nodes.pop()
        lazy = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        typing = isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")
        if on_import and (lazy or typing):
            continue
        nodes.extend(ast.iter_child_nodes(node))
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            # "from rsbounds import special" names a module, "from numpy import ndarray" does not
            whole = node.module in ("rsbounds", "scipy")
            module = str(node.module)
            names |= {f"{module}.{a.name}" for a in node.names} if whole else {module}
    return names


def rooms_imported(path: Path) -> set[str]:
    parts = [name.split(".") for name in imported(path)]
    return {part[1] for part in parts if part[0] == "rsbounds" and len(part) > 1}


def test_every_room_has_a_layer():
    assert {room(path) for path in sources()} <= set(ROOMS)


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_only_go_down(path):
    up = UPWARD.get(str(path.relative_to(PACKAGE)), set())
    wrong = rooms_imported(path) - ALLOWED[room(path)] - {room(path), "__version__"} - up
    assert not wrong, f"{path.relative_to(ROOT)} imports {sorted(wrong)} against the flow"
    # on import nothing goes up, and nothing goes around this test as a string
    assert not up & {name.split(".")[1] for name in imported(path, on_import=True) if "." in name}
    if room(path) not in ("__init__", "cli"):  # they load lazily
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                named = re.fullmatch(r"rsbounds\.(\w+)", node.value)
                lower = {room(path), *ALLOWED[room(path)], "models"}  # a group of entry points
                assert not named or named[1] in lower, f"{path} names {node.value}"


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_heavy_packages_load_only_when_used(path):
    names = imported(path, on_import=True)
    assert not {name.split(".")[0] for name in names} & HEAVY - AT_HOME.get(room(path), set())
    assert "scipy.stats" not in names or room(path) == "stats"


def test_compiled_kernels_are_called_from_below_alone():
    users = {
        room(path) for path in sources() for n in imported(path) if n.startswith("rsbounds_ext")
    }
    assert users <= {*THEORIES, "_numba"}


def test_oracle_stands_on_mpmath_alone():
    top = {n.split(".")[0] for p in sources() if room(p) == "oracle" for n in imported(p)}
    outside = top - set(sys.stdlib_module_names)
    assert outside <= {"mpmath", "rsbounds"}


def loaded_by(statement: str) -> set[str]:
    code = f"import sys; old = set(sys.modules)\n{statement}\n"
    code += "print(*sorted(set(sys.modules) - old))"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    return set(run.stdout.split())


def test_import_is_light():
    loaded = loaded_by("import rsbounds")
    assert not {m for m in loaded if m.split(".")[0] in HEAVY | {"numpy", "scipy"}}
    assert len(loaded) <= 25


@pytest.mark.parametrize("module", ["gaussian", "semielastic", "lipschitz", "certify", "report"])
def test_modules_load_no_heavy_package(module):
    loaded = loaded_by(f"import rsbounds.{module}")
    assert not {m for m in loaded if m.split(".")[0] in HEAVY}
    assert "scipy.stats" not in loaded


def test_modules_are_attributes_of_the_package():
    assert "special" in dir(rsbounds)
    assert rsbounds.report.__name__ == "rsbounds.report"
    with pytest.raises(AttributeError, match="no attribute 'nope'"):
        rsbounds.nope  # noqa: B018


def test_version_is_written_once():
    version = rsbounds.__version__
    assert re.fullmatch(r"\d+\.\d+\.\d+", version)
    assert not re.search(r'^version = "', (ROOT / "pyproject.toml").read_text(), re.M)
    # these two tell readers, so they repeat it: they must agree
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"\n## [{version}]" in (ROOT / "CHANGELOG.md").read_text()


@pytest.mark.slow
def test_wheel_from_the_sdist_has_what_strangers_need(tmp_path):
    if not (ROOT / ".git").exists():
        pytest.skip("builds from a clone")
    source = tmp_path / "source"
    subprocess.run(["git", "clone", "-q", str(ROOT), str(source)], check=True)
    with DefaultIsolatedEnv() as env:  # one for both, where the command builds one for each
        of_source = ProjectBuilder.from_isolated_env(env, source)
        env.install(of_source.build_system_requires)
        env.install(of_source.get_requires_for_build("sdist"))
        with tarfile.open(of_source.build("sdist", tmp_path)) as archive:
            archive.extractall(tmp_path / "sdist", filter="data")
        (unpacked,) = (tmp_path / "sdist").iterdir()
        of_sdist = ProjectBuilder.from_isolated_env(env, unpacked)
        env.install(of_sdist.get_requires_for_build("wheel"))
        of_sdist.build("wheel", tmp_path)
    (sdist,) = tmp_path.glob("*.tar.gz")
    (wheel,) = tmp_path.glob("*.whl")
    assert sdist.name == f"rsbounds-{rsbounds.__version__}.tar.gz"
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert names >= {"README.md", "LICENSE", "CITATION.cff", "constraints.txt", ".ci/run"}
    assert names >= {"tests/test_package.py", "rsbounds_ext/CMakeLists.txt"}
    names = set(zipfile.ZipFile(wheel).namelist())
    assert names >= {"rsbounds/py.typed", "rsbounds/cli/__init__.py", "rsbounds_ext/kernels.pxd"}
    assert "rsbounds/results/_page/page.html" in names
    assert any(re.fullmatch(r"rsbounds_ext/kernels\..*\.(so|pyd)", name) for name in names)
    assert not any(name.startswith(("tests", "benchmarks", "docs")) for name in names)
    headers = {f"rsbounds_ext/{p.relative_to(EXT)}" for p in EXT.rglob("include/**/*.hpp")}
    sources = {name for name in names if re.search(r"CMakeLists|\.[ch]pp$", name)}
    assert sources == headers  # what compiles against them, and not what compiles the package
    # the wheel alone, away from the clone and without the hooks of site-packages
    target = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(target)
    code = f"import sys; sys.path += [{str(target)!r}, {sysconfig.get_path('purelib')!r}]\n"
    code += "import rsbounds; print(rsbounds.__file__, rsbounds.special.ball_score(1.0, 784, 5.0))"
    run = subprocess.run(
        [sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    file, score = run.stdout.split()
    assert Path(file).is_relative_to(target)
    assert float(score) == rsbounds.special.ball_score(1.0, 784, 5.0)


def bash_blocks() -> list[str]:
    return re.findall(r"^```bash\n(.*?)^```$", (ROOT / "README.md").read_text(), re.M | re.S)


def test_readme_opens_with_a_paragraph_and_two_bash_blocks():
    readme = (ROOT / "README.md").read_text()
    demo, test = bash_blocks()[:2]
    assert "rsbounds demo" in demo
    assert ".[test]" in test
    assert "pytest" in test
    before = readme.split("```bash\n")[0]
    title, paragraph = [part for part in before.split("\n\n") if part.strip()]
    assert title.startswith("# ")
    assert not paragraph.startswith(("#", "-", "|"))
    between = readme.split("```")[2]
    assert not between.strip()


def test_readme_s_row_is_that_of_its_counts():
    from rsbounds import confidence, gaussian
    from rsbounds.results import COLUMNS

    (block,) = re.findall(r"^```text\n(.*?)^```$", (ROOT / "README.md").read_text(), re.M | re.S)
    names, values = (re.split(r"  +", line) for line in block.splitlines())
    row = dict(zip(names, values, strict=True))
    assert set(row) <= set(COLUMNS)
    # the runner-up of that digit had 442 votes
    p_a, p_b = confidence.pair_bounds(int(row["count"]), 442, int(row["n"]), 0.001)
    assert str(p_a).startswith(row["p_a"])
    assert str(gaussian.radius(p_a, float(row["sigma"]), p_b)).startswith(row["radius"])
    assert f"closer than {row['radius'].lstrip('0')} " in (ROOT / "README.md").read_text()


def test_readme_links_lead_somewhere():
    links = re.findall(r"\]\(([^)#:]+)\)", (ROOT / "README.md").read_text())
    missing = [link for link in links if not (ROOT / link).exists()]
    assert not missing


def test_ci_runs_the_readme_block():
    # the script takes the block out of the README, so the two cannot differ
    script = (ROOT / ".ci" / "run").read_text()
    pick = re.search(r"awk '([^']+)' README\.md", script)
    assert pick
    run = subprocess.run(
        ["awk", pick.group(1), "README.md"], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert run.stdout == bash_blocks()[1]
