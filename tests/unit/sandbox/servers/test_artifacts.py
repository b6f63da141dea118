"""Finding tools and filling the cache; Maven is played by a script."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from poolkeeper import errors
from poolkeeper.sandbox.servers import artifacts


def program(folder: Path, name: str, body: str = "exit 0") -> str:
    folder.mkdir(exist_ok=True)
    file = folder / name
    file.write_text(f"#!/bin/sh\n{body}\n")
    file.chmod(0o755)
    return str(file)


@pytest.mark.parametrize(
    ("present", "message"),
    [
        pytest.param(
            [],
            "the sandbox needs java and mvn, not found on the search path: "
            "apt-get install default-jre-headless maven",
            id="both-missing",
        ),
        pytest.param(
            ["mvn"],
            "the sandbox needs java, not found on the search path: "
            "apt-get install default-jre-headless",
            id="java-missing",
        ),
        pytest.param(
            ["java"],
            "the sandbox needs mvn, not found on the search path: apt-get install maven",
            id="maven-missing",
        ),
    ],
)
def test_what_is_missing_is_named_with_its_package(tmp_path, present, message):
    for name in present:
        program(tmp_path / "bin", name)
    with pytest.raises(errors.Unavailable) as caught:
        artifacts.find_tools(str(tmp_path / "bin"))
    assert str(caught.value) == message


def test_tools_are_found_on_the_given_path(tmp_path):
    java, mvn = (program(tmp_path / "bin", name) for name in ("java", "mvn"))
    assert artifacts.find_tools(str(tmp_path / "bin")) == artifacts.Tools(java, mvn)


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        pytest.param({"POOLKEEPER_CACHE": "/c", "HOME": "/h"}, Path("/c"), id="chosen"),
        pytest.param(
            {"HOME": "/h"}, Path(__file__).parents[4] / ".cache", id="that-of-the-checkout"
        ),
    ],
)
def test_where_the_cache_is(environment, expected):
    assert artifacts.cache_folder(environment) == expected


def maven(tmp_path: Path, body: str) -> artifacts.Tools:
    return artifacts.Tools("java", program(tmp_path / "bin", "mvn", body))


# Slow enough for the others to arrive while one is at it.
COPY = "grep -q kafka_2 pom.xml && mkdir lib && echo jar > lib/a.jar && sleep 0.05 && echo run >> "


def test_a_version_is_resolved_once_whoever_asks_at_the_same_time(tmp_path):
    log = tmp_path / "log"
    tools = maven(tmp_path, f"{COPY}{log}")
    found: list[Path] = []
    askers = [
        threading.Thread(
            target=lambda: found.append(artifacts.class_path("3.9.2", tmp_path / "cache", tools))
        )
        for _ in range(4)
    ]
    for asker in askers:
        asker.start()
    for asker in askers:
        asker.join()
    assert len(set(found)) == 1
    assert [jar.name for jar in found[0].iterdir()] == ["a.jar"]
    assert log.read_text() == "run\n"
    assert artifacts.class_path("2.8.2", tmp_path / "cache", tools) != found[0]


def test_a_failure_leaves_nothing_and_says_what_maven_said(tmp_path):
    tools = maven(tmp_path, "mkdir lib; echo no such artifact; exit 1")
    with pytest.raises(errors.Unavailable, match="no such artifact"):
        artifacts.class_path("3.9.2", tmp_path / "cache", tools)
    assert [path for path in (tmp_path / "cache/kafka").iterdir() if path.is_dir()] == []


def test_an_unknown_version_is_refused_with_the_known_ones(tmp_path):
    with pytest.raises(errors.Refused, match=r"no Kafka 9\.9 \(it has 3\.9\.2, 2\.8\.2"):
        artifacts.class_path("9.9", tmp_path, artifacts.Tools("java", "mvn"))


def test_the_lock_is_among_processes(tmp_path):
    file = tmp_path / "lock"
    probe = "import fcntl, sys; fcntl.flock(open(sys.argv[1]), fcntl.LOCK_EX | fcntl.LOCK_NB)"

    def others_get_it() -> bool:
        run = subprocess.run([sys.executable, "-c", probe, file], capture_output=True, check=False)
        return run.returncode == 0

    with artifacts.hold_lock(file):
        assert not others_get_it()
    assert others_get_it()
