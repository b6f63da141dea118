"""The operator's Dockerfile: a linter's rules, and ours."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
DOCKERFILE = ROOT / "Dockerfile"
HADOLINT = Path(sys.executable).with_name("hadolint")


def lint(text: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [HADOLINT, "--no-color", "--failure-threshold", "style", "-"],
        input=text,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def instructions(text: str) -> list[list[tuple[str, str]]]:
    """Return the instructions of each stage, continuation lines joined."""
    joined = re.sub(r"\\\n", " ", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE))
    stages: list[list[tuple[str, str]]] = [[]]
    for line in filter(str.strip, joined.splitlines()):
        name, _, rest = line.strip().partition(" ")
        if name == "FROM":
            stages.append([])
        stages[-1].append((name, rest.strip()))
    return stages


STAGES = instructions(DOCKERFILE.read_text(encoding="utf-8"))
BUILD, FINAL = STAGES[1:]


def test_the_linter_finds_nothing():
    run = lint(DOCKERFILE.read_text(encoding="utf-8"))
    assert (run.stdout, run.returncode) == ("", 0)


def test_the_linter_would_find_something():
    run = lint("FROM debian:latest\nRUN cd /tmp && sudo make\n")
    assert run.returncode == 1
    assert "DL3007" in run.stdout


def test_the_final_stage_runs_nothing_and_takes_one_folder_of_the_build():
    assert [rest for name, rest in FINAL if name == "RUN"] == []
    assert [rest for name, rest in FINAL if name in ("COPY", "ADD")] == [
        "--from=build /opt/poolkeeper /opt/poolkeeper"
    ]


def test_the_base_is_an_argument_of_both_stages():
    assert ("ARG", "BASE=python:3.11-slim-bookworm") in STAGES[0]
    assert [stage[0][1].split()[0] for stage in (BUILD, FINAL)] == ["${BASE}", "${BASE}"]


def test_the_user_is_a_number_and_not_root():
    assert [rest for name, rest in FINAL if name == "USER"] == ["65532:65532"]


def test_what_runs_is_the_command_itself_not_a_shell():
    """A shell would not hand SIGTERM on."""
    assert [rest for name, rest in FINAL if name == "ENTRYPOINT"] == ['["poolkeeper"]']


def test_every_package_that_is_installed_is_locked():
    installs = [rest for name, rest in BUILD if name == "RUN" and "pip install" in rest]
    assert len(installs) == 2
    assert "--require-hashes" in installs[0]
    assert re.findall(r"-r (\S+)", installs[0]) == [
        "requirements/core.txt",
        "requirements/storage.txt",
    ]
    assert "--no-deps --no-build-isolation" in installs[1]


@pytest.mark.parametrize("name", ["pyspark", "py4j"])
@pytest.mark.parametrize("lock", ["core", "storage"])
def test_the_image_holds_no_spark(name, lock):
    assert name not in locked(lock)


def test_what_only_planning_storage_needs_is_arrow():
    assert locked("storage").keys() - locked("core").keys() == {"pyarrow"}


@pytest.mark.parametrize("lock", ["core", "storage"])
def test_both_images_have_the_same_versions(lock):
    fleet = locked("fleet")
    assert {name: fleet[name] for name in locked(lock) if name in fleet} == {
        name: version for name, version in locked(lock).items() if name in fleet
    }


def locked(name):
    """The packages of a lock, and their versions."""
    text = (ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8")
    return dict(re.findall(r"^([a-z0-9-]+)==(\S+)", text, re.MULTILINE))
