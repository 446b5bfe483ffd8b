"""The package as a whole: what may import what, what loads when, versions, extras, the
wheel.
"""

import ast
import re
import runpy
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from functools import cache
from pathlib import Path

import pytest
from sources import PACKAGE, for_types_alone, sources, statements, tree_of

import rsbounds

ROOT = Path(__file__).parents[2]
EXT = ROOT / "rsbounds_ext"

# The rooms, and what each may import besides itself, stand in the table of the
# architecture page: imports only go up that list. A module that isn't in it is a
# theory, behind those that are.
PAGE = ROOT / "docs" / "architecture.md"
DRAW = runpy.run_path(str(PAGE.with_suffix(".py")))
THEORIES = set(DRAW["theories"](PAGE.read_text()))
ALLOWED = {
    room: set(may)
    for room, may in DRAW["allowed"](PAGE.read_text()).items()
    if room != "rsbounds_ext"
}
HEAVY = {
    "torch",
    "numba",
    "llvmlite",
    "matplotlib",
    "mlxtend",
    "mpmath",
    "flint",
}
HEAVY |= {"ray", "art", "jax", "keras", "sklearn", "skops", "jinja2"}
AT_HOME = {
    "loading": {"torch"},  # denoiser.py, imported for a torch module
    "sampling": {"torch"},  # torch_*.py, imported for a torch module
    "torch": {"torch"},
    "demo": {"torch"},
    "_numba": {"numba", "llvmlite"},
    "oracle": {"mpmath"},
}


def room(path):
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


@cache
def imported(path, *, on_import=False):
    """Dotted names that a file imports; ``on_import``: only those run when it is
    imported.
    """
    nodes = [tree_of(path)]
    names = set()
    while nodes:
        node = nodes.pop()
        lazy = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if on_import and (lazy or for_types_alone(node)):
            continue
        nodes.extend(statements(node))
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            # "from rsbounds import special" names a module, "from numpy import ndarray"
            # does not
            whole = node.module in ("rsbounds", "scipy")
            module = str(node.module)
            names |= {f"{module}.{a.name}" for a in node.names} if whole else {module}
    return names


def rooms_imported(path):
    parts = [name.split(".") for name in imported(path)]
    return {part[1] for part in parts if part[0] == "rsbounds" and len(part) > 1}


def test_imports_only_go_up_the_list():
    present = {room(path) for path in sources()}
    order = list(ALLOWED)
    assert present >= set(ALLOWED)
    added = present - set(ALLOWED)
    for name, may in ALLOWED.items():  # each room's are before it, so none is a circle
        assert may <= set(order[: order.index(name)]), name
    for path in sources():
        own = room(path)
        lower = ALLOWED.get(own, THEORIES) | {own, "__version__"}
        if lower > THEORIES and own not in added:
            lower |= added
        place = path.relative_to(PACKAGE)
        assert rooms_imported(path) <= lower, f"{place} imports against the flow"
        # nothing goes around this test as a string; those two load lazily
        if own not in ("__init__", "cli"):
            named = re.findall(r"""["']rsbounds\.(\w+)["']""", path.read_text())
            # "bounds": a group of entry points
            assert {*named} <= {*lower, "bounds"}, f"{place} names a room above it"
    users = {
        room(p) for p in sources() for n in imported(p) if n.startswith("rsbounds_ext")
    }
    assert users <= {*THEORIES, "discrete", "_numba"}
    oracle = {
        n.split(".")[0] for p in sources() if room(p) == "oracle" for n in imported(p)
    }
    assert oracle - set(sys.stdlib_module_names) <= {"mpmath", "rsbounds"}


def test_heavy_packages_load_only_when_used():
    for path in sources():
        names = imported(path, on_import=True)
        heavy = {name.split(".")[0] for name in names} & HEAVY - AT_HOME.get(
            room(path), set()
        )
        assert not heavy, f"{path.relative_to(ROOT)} imports {heavy}"
        assert "scipy.stats" not in names or room(path) == "stats"


def test_result_files_know_no_drawing_and_no_pages():
    for path in (PACKAGE / "results").iterdir():
        if path.suffix == ".py":
            names = {name.split(".")[0] for name in imported(path)}
            assert not names & {"html", "jinja2", "matplotlib"}, path
            assert not re.search(r"need\(.(jinja2|matplotlib)", path.read_text()), path


def loaded_by(statement):
    code = f"import sys; old = set(sys.modules)\n{statement}\n"
    code += "print(*sorted(set(sys.modules) - old))"
    words = [sys.executable, "-c", code]
    return set(subprocess.check_output(words, text=True, cwd=ROOT).split())


def test_import_is_light():
    loaded = loaded_by("import rsbounds")
    assert not {m for m in loaded if m.split(".")[0] in HEAVY | {"numpy", "scipy"}}
    assert len(loaded) <= 25
    modules = ", ".join(
        f"rsbounds.{m}" for m in ("gaussian", "semielastic", "certify", "results")
    )
    loaded = loaded_by(f"import {modules}")
    assert not {m for m in loaded if m.split(".")[0] in HEAVY or m == "scipy.stats"}


def test_special_functions_load_numpy_alone():
    """Those who want nothing else wait for no SciPy, numba or torch."""
    call = "from rsbounds import special; special.ncx2_cdf(1.0, 2.0, 3.0)"
    calls = (
        f"{call}; special.ncx2_ppf([0.5, 0.1], 2, 3); special.errstate(domain='nan')"
    )
    tops = {name.partition(".")[0] for name in loaded_by(calls)}
    public = {name for name in tops if not name.startswith("_")} - {"cython_runtime"}
    assert public - sys.stdlib_module_names == {"numpy", "rsbounds", "rsbounds_ext"}


def test_modules_are_attributes_of_the_package():
    """Every public room, but for the commands and what is shown elsewhere."""
    public = {room(path) for path in sources() if not room(path).startswith("_")}
    assert set(rsbounds._MODULES) == public - {"cli", "demo", "procedure", "trust"}
    assert list(rsbounds._MODULES) == sorted(rsbounds._MODULES)
    assert set(rsbounds._MODULES) < set(dir(rsbounds))
    assert rsbounds.results.__name__ == "rsbounds.results"
    with pytest.raises(AttributeError, match="no attribute 'nope'"):
        rsbounds.nope  # noqa: B018


def test_the_architecture_page_shows_the_rooms():
    text = PAGE.read_text()
    assert PAGE.with_suffix(".svg").read_text() == DRAW["drawing"](text)
    layers = [set(layer) for layer in DRAW["layers"](text)]
    for name, may in ALLOWED.items():
        if name not in DRAW["UNDRAWN"]:
            (at,) = [k for k, layer in enumerate(layers) if name in layer]
            assert may <= set().union(*layers[:at]), name


def test_version_is_written_once():
    version = rsbounds.__version__
    assert re.fullmatch(r"\d+\.\d+\.\d+", version)
    # these tell readers and conda, so they repeat it: .ci/release.py writes them
    assert f'  version: "{version}"\n' in (ROOT / ".ci/recipe/recipe.yaml").read_text()
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"\n## [{version}]" in (ROOT / "CHANGELOG.md").read_text()


def test_extras_are_those_that_the_guide_and_the_messages_name():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    page = (ROOT / "docs" / "howto" / "where-it-runs.md").read_text()
    table = dict(re.findall(r"^\| `(\w+)` \| ([^|]+) \|", page, re.M))
    assert set(table) == set(extras)
    for extra in set(table) - {"docs", "test", "slow"}:
        own = {
            re.sub(r"rsbounds\[(\w+)\]", r"`\1`", r).split(">=")[0]
            for r in extras[extra]
        }
        assert set(table[extra].split(", ")) == own, extra
    code = "\n".join(path.read_text() for path in sources())
    named = set(re.findall(r"rsbounds\[(\w+)\]|\(extra: (\w+)\)", code))
    assert {name for pair in named for name in pair if name} <= set(extras)
    # whoever installs the extra slow has them all
    within = {
        n
        for e in ("slow", "test")
        for r in extras[e]
        for n in re.findall(r"\[(.*)\]", r)
    }
    assert set(extras) - set(",".join(within).split(",")) == {"slow", "torch"}
    # each that isn't for work on rsbounds itself, nor several others, has a use alone
    uses = {p.stem.removeprefix("with_") for p in (ROOT / "tests/extras").iterdir()}
    others = {"test", "slow", "docs", "notebooks", "imagenet", "frameworks"}
    assert uses - {"__pycache__"} == set(extras) - others


def test_the_oldest_packages_are_those_that_the_metadata_allows():
    """Of the core and of each extra that isn't for work on rsbounds itself."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    users = set(extras) - {"test", "slow", "docs", "notebooks", "imagenet"}
    stated = project["dependencies"] + [r for name in users for r in extras[name]]
    lines = (ROOT / "constraints-oldest.txt").read_text().splitlines()
    pins = dict(line.lower().split("==") for line in lines if "==" in line)
    for requirement in stated:
        if "[" not in requirement:
            name, floor = requirement.lower().split(">=")
            assert re.fullmatch(rf"{re.escape(floor)}(\.0)*", pins[name]), requirement


@pytest.mark.slow
def test_wheel_from_the_sdist_has_what_strangers_need(tmp_path):
    if not (ROOT / ".git").exists():
        pytest.skip("builds from a clone")
    pytest.importorskip("build")
    from build import ProjectBuilder
    from build.env import DefaultIsolatedEnv

    source = tmp_path / "source"
    subprocess.run(["git", "clone", "-q", str(ROOT), str(source)], check=True)
    with (
        DefaultIsolatedEnv() as env
    ):  # one for both, where the command builds one for each
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
    assert names >= {
        "README.md",
        "LICENSE",
        "CITATION.cff",
        "constraints.txt",
        ".ci/run",
    }
    assert names >= {"tests/package/test_package.py", "rsbounds_ext/CMakeLists.txt"}
    names = set(zipfile.ZipFile(wheel).namelist())
    assert names >= {
        "rsbounds/py.typed",
        "rsbounds/cli/__init__.py",
        "rsbounds_ext/kernels.pxd",
    }
    assert "rsbounds/reports/_pages/page.html" in names
    assert any(
        re.fullmatch(r"rsbounds_ext/kernels\..*\.(so|pyd)", name) for name in names
    )
    assert not any(name.startswith(("tests", "benchmarks", "docs")) for name in names)
    headers = {
        f"rsbounds_ext/{p.relative_to(EXT)}" for p in EXT.rglob("include/**/*.hpp")
    }
    sources = {name for name in names if re.search(r"CMakeLists|\.[ch]pp$", name)}
    assert (
        sources == headers
    )  # what compiles against them, and not what compiles the package
    # the wheel alone, away from the clone and without the hooks of site-packages
    target = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(target)
    code = (
        f"import sys; sys.path += [{str(target)!r}, "
        f"{sysconfig.get_path('purelib')!r}]\n"
    )
    code += (
        "import rsbounds; print(rsbounds.__file__, rsbounds.special.ball_score(1.0, "
        "784, 5.0))"
    )
    run = subprocess.run(
        [sys.executable, "-S", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    file, score = run.stdout.split()
    assert Path(file).is_relative_to(target)
    assert float(score) == rsbounds.special.ball_score(1.0, 784, 5.0)
