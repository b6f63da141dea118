"""The planner's Dockerfile: a linter's rules, and ours."""

import re
from pathlib import Path

import pytest

from poolkeeper.cli.main import COMMANDS, HIDDEN
from poolkeeper.kube.jobs.planner_pods import POD_SECURITY
from poolkeeper.sandbox.servers import artifacts
from unit.charts.test_dockerfile import ROOT, instructions, lint

DOCKERFILE = ROOT / "Dockerfile.planner"
STAGES = instructions(DOCKERFILE.read_text(encoding="utf-8"))
JAVA, JARS, BUILD, FINAL = STAGES[1:]


def said(stage, *names):
    return [rest for name, rest in stage if name in names]


def test_the_linter_finds_nothing():
    run = lint(DOCKERFILE.read_text(encoding="utf-8"))
    assert (run.stdout, run.returncode) == ("", 0)


def test_the_final_stage_runs_nothing_and_takes_what_it_needs():
    assert said(FINAL, "RUN") == []
    assert said(FINAL, "COPY", "ADD") == [
        "--from=java /opt/java/openjdk /opt/java/openjdk",
        "--from=build /etc/passwd /etc/passwd",
        "--from=build /opt/poolkeeper /opt/poolkeeper",
    ]


def test_all_bases_are_arguments():
    assert said(STAGES[0], "ARG") == [
        "BASE=python:3.11-slim-bookworm",
        "JAVA=eclipse-temurin:17-jre-jammy",
        "MAVEN=maven:3.9-eclipse-temurin-17",
    ]
    assert [stage[0][1].split()[0] for stage in (JAVA, JARS, BUILD, FINAL)] == [
        "${JAVA}",
        "${MAVEN}",
        "${BASE}",
        "${BASE}",
    ]


def test_the_user_is_the_pods_and_has_a_name():
    user = POD_SECURITY["runAsUser"]
    assert said(FINAL, "USER") == [f"{user}:{user}"]
    assert any(f"poolkeeper:x:{user}:{user}:" in run for run in said(BUILD, "RUN"))


def test_what_runs_is_the_command_itself_and_knows_what_spark_says():
    assert said(FINAL, "ENTRYPOINT") == ['["poolkeeper"]']
    assert {"fleet", "executor", "driver"} <= COMMANDS.keys() | HIDDEN.keys()


def test_every_package_that_is_installed_is_locked():
    installs = [run for run in said(BUILD, "RUN") if "pip install" in run]
    assert len(installs) == 2
    assert "--require-hashes" in installs[0]
    assert re.findall(r"-r (\S+)", installs[0]) == [
        "requirements/core.txt",
        "requirements/fleet.txt",
    ]
    assert "--no-deps --no-build-isolation" in installs[1]


@pytest.mark.parametrize("name", ["pyspark", "pyarrow", "py4j"])
def test_the_image_holds_spark(name):
    lock = Path(ROOT / "requirements" / "fleet.txt").read_text(encoding="utf-8")
    assert re.search(rf"^{name}==", lock, re.MULTILINE)


def test_the_image_holds_the_jars_for_object_stores():
    assert said(JARS, "COPY") == ["requirements/s3a.xml pom.xml"]
    assert [artifacts.RESOLVER in run for run in said(JARS, "RUN")] == [True]
    assert "--from=jars /jars/lib /jars" in said(BUILD, "COPY")


def test_the_jars_are_of_the_hadoop_that_spark_has():
    pom = Path(ROOT / "requirements" / "s3a.xml").read_text(encoding="utf-8")
    lock = Path(ROOT / "requirements" / "fleet.txt").read_text(encoding="utf-8")
    (hadoop,) = re.findall(r"<hadoop>(.+)</hadoop>", pom)
    (spark,) = re.findall(r"^pyspark==(\S+)", lock, re.MULTILINE)
    assert (spark, hadoop) == ("4.3.0", "3.5.0"), "renew s3a.xml with pyspark: see docs/fleet.md"
