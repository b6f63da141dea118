"""The programs of the control plane are built once, by one builder, or it is said why not."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from control_plane import building
from control_plane.building import BuildError
from poolkeeper.sandbox.servers import artifacts

SCRIPT = building.SOURCE / "building.py"

# A module as ours, which needs no other: it is compiled in a second.
GO_MOD = "module test\n\ngo 1.26\n\n// k8s.io/kubernetes v1.36.3\n"
MAIN = 'package main\n\nfunc main() { print("%s") }\n'
BROKEN = "package main\n\nfunc main() { nonsense }\n"

BUILD = """
import sys
from pathlib import Path
from control_plane import building
print(building.control_plane(Path(sys.argv[1]), Path(sys.argv[2])))
"""


@pytest.fixture
def module(tmp_path):
    folder = tmp_path / "module"
    folder.mkdir()
    (folder / "go.mod").write_text(GO_MOD)
    (folder / "go.sum").write_text("")
    (folder / "main.go").write_text(MAIN % "one")
    return folder


def script(cache, *arguments, path=""):
    """Run the builder as `make test` does, with nothing but `path` on the search path."""
    environment = {"POOLKEEPER_CACHE": str(cache), "HOME": str(Path.home()), "PATH": path}
    return subprocess.run(
        [sys.executable, SCRIPT, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def said(folder):
    program = folder / "control-plane"
    return subprocess.run([program], capture_output=True, text=True, timeout=60, check=True).stderr


def test_without_any_tool_every_program_is_named_with_the_reason(tmp_path):
    run = script(tmp_path, "all")
    no_go = (
        "the control plane for tests is built with Go 1.26 or later, "
        "and there is no go on the search path"
    )
    no_debian = (
        "promtool is not on the search path, and this is no Debian whose package "
        "`prometheus` could be unpacked"
    )
    assert run.stderr.splitlines() == [
        f"control-plane: {no_go}",
        f"helm: {no_go}",
        f"promtool: {no_debian}",
        f"versitygw: {no_go}",
    ]
    assert run.returncode == 1
    assert run.stdout == ""


def test_a_go_that_is_too_old_is_named_with_its_version(tmp_path):
    go = tmp_path / "go"
    go.write_text("#!/bin/sh\necho go1.25.9\n")
    go.chmod(0o755)
    run = script(tmp_path, "control-plane", path=str(tmp_path))
    assert run.stderr == (
        "control-plane: the control plane for tests is built with Go 1.26 or later; "
        f"{go} is go1.25.9\n"
    )
    assert run.returncode == 1


def test_an_unknown_program_is_refused(tmp_path):
    run = script(tmp_path, "helm", "tiller")
    assert run.stderr == "no tiller here: only control-plane, helm, promtool, versitygw, all\n"
    assert run.returncode == 2


def test_a_source_that_does_not_compile_is_told_with_the_place_and_leaves_nothing(module, tmp_path):
    (module / "main.go").write_text(BROKEN)
    with pytest.raises(BuildError, match=r"main\.go:3:15: undefined: nonsense"):
        building.control_plane(module, tmp_path / "cache")
    assert [f.name for f in (tmp_path / "cache/control-plane").iterdir() if f.is_dir()] == []
    (module / "main.go").write_text(MAIN % "mended")
    assert said(building.control_plane(module, tmp_path / "cache")) == "mended"


def test_another_source_is_another_folder_and_the_old_one_stays(module, tmp_path):
    one = building.control_plane(module, tmp_path / "cache")
    (module / "main.go").write_text(MAIN % "two")
    two = building.control_plane(module, tmp_path / "cache")
    assert (said(one), said(two)) == ("one", "two")


def test_builders_that_come_at_the_same_time_build_once(module, tmp_path):
    command = [sys.executable, "-c", BUILD, module, tmp_path / "cache"]
    builders = [
        subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(building.SOURCE.parent)},
        )
        for _ in range(3)
    ]
    told = [builder.communicate(timeout=60) for builder in builders]
    assert len({stdout for stdout, _ in told}) == 1
    assert "".join(stderr for _, stderr in told).count("building the control plane") == 2
    assert said(Path(told[0][0].strip())) == "one"


@pytest.mark.parametrize(
    "environment",
    [
        pytest.param({"POOLKEEPER_CACHE": "/c", "HOME": "/h"}, id="chosen"),
        pytest.param({"HOME": "/h"}, id="in-the-checkout"),
    ],
)
def test_the_cache_is_where_the_sandbox_has_its_own(environment):
    assert building.cache_folder(environment) == artifacts.cache_folder(environment)


def test_promtool_checks_rules(tmp_path):
    rules = tmp_path / "rules.yaml"
    rules.write_text("groups: [{name: g, rules: [{record: a, expr: sum(}]}]\n")
    check = [building.promtool(), "check", "rules", rules]
    run = subprocess.run(check, capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 1
    assert "parse error" in run.stdout + run.stderr


def test_the_prometheus_beside_promtool_is_a_server():
    command = [building.prometheus(), "--version"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert run.stdout.startswith("prometheus, version 2.")
