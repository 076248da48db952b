"""What is shipped: the metadata, the wheel, the public names and the bounds on private API."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any, get_origin

import pytest

ROOT = Path(__file__).resolve().parent.parent

#: The one module that may touch what JAX keeps to itself.
JAX_PRIVATE = "pwlab/lazy/_jax.py"


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def distribution(requirement: str) -> str:
    """The normalised name in a requirement: ``"JAX_lib[cpu]>=1; x"`` gives ``"jax-lib"``."""
    name = re.match(r"[A-Za-z0-9._-]+", requirement.strip())
    assert name, requirement
    return re.sub(r"[-_.]+", "-", name[0]).lower()


# --------------------------------------------------------------------------------------- environment.yml


@pytest.fixture
def environment() -> tuple[list[str], list[str]]:
    """environment.yml's dependencies: Conda's, and those that it leaves to pip."""
    yaml = pytest.importorskip("yaml")
    listed = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))["dependencies"]
    conda = [entry for entry in listed if isinstance(entry, str)]
    pip = [line for entry in listed if isinstance(entry, dict) for line in entry["pip"]]
    return conda, pip


def test_environment_has_the_projects_python(environment: tuple[list[str], list[str]]):
    conda, _ = environment
    (python,) = [entry for entry in conda if distribution(entry) == "python"]
    assert python.removeprefix("python").strip() == project()["requires-python"]


def test_environment_installs_this_checkout_with_extras_that_exist(environment: tuple[list[str], list[str]]):
    _, pip = environment
    (line,) = pip
    match = re.fullmatch(r"-e \.\[([\w,]+)\]", line)
    assert match, line
    assert set(match[1].split(",")) <= set(project()["optional-dependencies"])


def test_environment_repeats_no_dependency(environment: tuple[list[str], list[str]]):
    extras = project()["optional-dependencies"].values()
    in_project = {distribution(r) for rs in [project()["dependencies"], *extras] for r in rs}
    in_environment = {distribution(r) for r in environment[0]}
    assert "jax" in in_project
    assert "python" in in_environment
    assert not in_project & in_environment


# ----------------------------------------------------------------------------------------------- wheel


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    pytest.importorskip("hatchling")
    out = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(out)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = out.glob("pwlab-*.whl")
    return zipfile.ZipFile(path)


def test_wheel_holds_the_two_packages_and_nothing_else(wheel: zipfile.ZipFile):
    names = wheel.namelist()
    assert {"pwlab/__init__.py", "pwlab_magics/__init__.py"} <= set(names)
    info = f"pwlab-{project()['version']}.dist-info"
    assert {name.split("/")[0] for name in names} == {"pwlab", "pwlab_magics", info}


def test_wheel_holds_every_file_of_the_packages(wheel: zipfile.ZipFile):
    sources = ROOT / "pwlab" / "viz" / "js"  # of the dashboard's bundle
    expected = {
        path.relative_to(parent).as_posix()
        for parent, package in [(ROOT, "pwlab"), (ROOT / "magics", "pwlab_magics")]
        for path in (parent / package).rglob("*")
        if path.is_file()
        and not path.is_relative_to(sources)
        and not any(part == "__pycache__" or part.startswith(".") for part in path.relative_to(parent).parts)
    }
    assert expected - set(wheel.namelist()) == set()
    assert {f"pwlab/viz/dashboard/static/{name}" for name in ("dashboard.js", "replay.js")} <= expected
    assert not any(name.startswith("pwlab/viz/js/") for name in wheel.namelist())


# ---------------------------------------------------------------------------------------- public names


def undocumented(namespace: Any, names: list[str]) -> list[str]:
    """Those of the modules, classes and functions called `names` that say nothing for themselves."""
    missing: list[str] = []
    for name in names:
        value = getattr(namespace, name)
        if not (inspect.ismodule(value) or callable(value)) or get_origin(value) is not None:
            continue  # a constant or an alias of a type has its type's docstring, which tells nothing
        doc = vars(value).get("__doc__") if inspect.isclass(value) else value.__doc__
        if dataclasses.is_dataclass(value) and (doc or "").startswith(f"{name}("):
            doc = None  # the signature that @dataclass writes for want of a docstring
        if not (doc and doc.strip()):
            missing.append(name)
    return missing


def test_every_public_name_resolves_and_is_documented():
    import pwlab

    names = list(pwlab.__all__)
    assert names
    assert len(names) == len(set(names)), "a name is listed twice"
    assert [name for name in names if not hasattr(pwlab, name)] == []
    assert undocumented(pwlab, names) == []


def test_undocumented_names_are_found():
    class Silent:
        pass

    class Heir(ValueError):  # inherits a docstring and has none
        pass

    @dataclasses.dataclass
    class Record:
        x: int

    class Spoken:
        """Says what it is."""

    values = {"Silent": Silent, "Heir": Heir, "Record": Record, "Spoken": Spoken, "LIMIT": 3, "f": lambda: 0}
    namespace = type("namespace", (), {})()
    vars(namespace).update(values)
    assert undocumented(namespace, list(values)) == ["Silent", "Heir", "Record", "f"]


# ----------------------------------------------------------------------------------------- private API


def jax_private_uses(source: str) -> list[int]:
    """The lines of `source` that import or reach into ``jax._src``."""
    lines: list[int] = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=aliases):
                found = any(f"{alias.name}.".startswith("jax._src.") for alias in aliases)
            case ast.ImportFrom(module="jax", names=aliases):
                found = any(alias.name == "_src" for alias in aliases)
            case ast.ImportFrom(module=str(module)):
                found = f"{module}.".startswith("jax._src.")
            case ast.Attribute(value=ast.Name(id="jax"), attr="_src"):
                found = True
            case ast.Constant(value=str(text)):  # importlib.import_module("jax._src.core")
                found = re.fullmatch(r"jax\._src(\.\w+)*", text) is not None
            case _:
                found = False
        if found:
            lines.append(node.lineno)
    return lines


def test_private_jax_stands_in_one_module():
    sources = [path for folder in ("pwlab", "magics") for path in (ROOT / folder).rglob("*.py")]
    assert sources
    uses = {
        path.relative_to(ROOT).as_posix(): lines
        for path in sources
        if (lines := jax_private_uses(path.read_text(encoding="utf-8")))
    }
    uses.pop(JAX_PRIVATE, None)
    assert uses == {}


@pytest.mark.parametrize(
    "source",
    [
        "import jax._src",
        "import numpy, jax._src.core as c",
        "from jax import _src",
        "from jax._src import core",
        "from jax._src.core import Tracer",
        "import jax\njax._src.core",
        "import_module('jax._src.core')",
    ],
)
def test_private_jax_is_found(source: str):
    assert jax_private_uses(source) == [source.count("\n") + 1]


@pytest.mark.parametrize("source", ["import jax", "from jax import core", "'see jax._src for why'", "x._src"])
def test_public_jax_is_not_taken_for_private(source: str):
    assert jax_private_uses(source) == []
