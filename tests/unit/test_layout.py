"""The shape of the source tree that other tools rely on."""

import ast
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from poolkeeper.sandbox.servers import artifacts

ROOT = Path(__file__).parents[2]
LOCKS = ("core", "dev", "fleet")


def test_operator_is_a_folder_and_not_a_package():
    """With an __init__.py it would shadow the standard library's operator."""
    assert not (ROOT / "operator" / "__init__.py").exists()


def test_nothing_but_the_package_becomes_importable():
    found = {path.name for path in (ROOT / "operator").iterdir()} - {"__pycache__"}
    assert found == {"poolkeeper"}


def test_the_launcher_of_the_sandbox_needs_nothing_of_ours():
    """It is run by a bare interpreter: standard library only."""
    tree = ast.parse((ROOT / "operator/poolkeeper/sandbox/servers/launch.py").read_text())
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import)]
    names = {alias.name for node in imports for alias in node.names}
    assert names <= sys.stdlib_module_names
    assert not any(isinstance(node, ast.ImportFrom) for node in ast.walk(tree))


@pytest.mark.parametrize("lock", LOCKS)
def test_every_locked_package_has_hashes_and_no_lock_names_a_host(lock):
    text = (ROOT / "requirements" / f"{lock}.txt").read_text()
    entries = re.split(r"^(?=[a-z0-9])", text, flags=re.MULTILINE)
    assert [entry for entry in entries if "==" in entry and "--hash=sha256:" not in entry] == []
    assert not re.search(r"://|--(extra-)?index-url|--trusted-host|--find-links", text)


@pytest.mark.parametrize(("lock", "base"), [("dev", "core"), ("fleet", "core"), ("fleet", "dev")])
def test_locks_agree_where_they_overlap(lock, base):
    def pins(name):
        text = (ROOT / "requirements" / f"{name}.txt").read_text()
        return dict(re.findall(r"^([a-z0-9.-]+)==(\S+)", text, flags=re.MULTILINE))

    ours, theirs = pins(lock), pins(base)
    assert {name: ours[name] for name in ours.keys() & theirs.keys()} == {
        name: theirs[name] for name in ours.keys() & theirs.keys()
    }


def test_every_direct_dependency_is_locked():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = {
        "core": project["dependencies"],
        "dev": project["optional-dependencies"]["dev"],
        "fleet": project["optional-dependencies"]["fleet"],
    }
    for lock, requirements in declared.items():
        text = (ROOT / "requirements" / f"{lock}.txt").read_text()
        locked = set(re.findall(r"^([a-z0-9.-]+)==", text, flags=re.MULTILINE))
        names = {
            re.split(r"[^\w.-]", requirement)[0].lower().replace("_", "-").replace(".", "-")
            for requirement in requirements
        }
        assert names - locked == set()


def test_the_sandbox_has_the_versions_that_ci_needs():
    assert {"3.9.2", "2.8.2", "2.0.1"} <= set(artifacts.versions())
    assert artifacts.versions()[0] == artifacts.LATEST


def test_ci_runs_make_test_and_is_executable():
    script = ROOT / ".ci" / "run"
    assert script.stat().st_mode & 0o111
    assert subprocess.run(["bash", "-n", script], check=False).returncode == 0
    assert script.read_text().splitlines()[-1] == "exec make test"


@pytest.mark.slow
def test_the_wheel_holds_the_package_with_its_poms_and_schemas(tmp_path):
    wheel = _build_wheel(tmp_path)
    names = set(wheel)
    assert {name.split("/")[0] for name in names if ".dist-info" not in name} == {"poolkeeper"}
    assert "poolkeeper/py.typed" in names
    assert "poolkeeper/sandbox/servers/poms/3.9.2.xml" in names
    assert {f"poolkeeper/crds/{file.name}" for file in (ROOT / "crds").iterdir()} <= names


def _build_wheel(folder: Path) -> list[str]:
    backend = "import sys; from hatchling import build; print(build.build_wheel(sys.argv[1]))"
    run = subprocess.run(
        [sys.executable, "-c", backend, str(folder)],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    with zipfile.ZipFile(folder / run.stdout.split()[-1]) as archive:
        return archive.namelist()
