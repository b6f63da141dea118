import json

import pytest

from poolkeeper.cli import main
from poolkeeper.cli.input import operator_options
from poolkeeper.errors import Refused
from poolkeeper.kube.jobs.planner_pods import PlannerPodSettings


def test_planning_jobs_are_what_the_file_says(tmp_path):
    file = tmp_path / "settings.json"
    file.write_text(json.dumps({"image": "planner:1", "executors": 2}))
    assert operator_options.planning_pods(file) == PlannerPodSettings("planner:1", executors=2)
    assert operator_options.planning_pods(None) is None


@pytest.mark.parametrize(
    ("content", "said"),
    [
        pytest.param(None, "cannot be read", id="no-file"),
        pytest.param(b"\xff", "cannot be read", id="no-text"),
        pytest.param(b'{"image": "a", "exectors": 2}', "exectors is unknown", id="a-typo"),
    ],
)
def test_a_file_that_says_something_else_is_refused(content, said, tmp_path):
    file = tmp_path / "settings.json"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(Refused, match=said):
        operator_options.planning_pods(file)


def test_planning_jobs_go_with_kubernetes(tmp_path, capsys):
    assert main.main(["run", "-f", str(tmp_path), "--planning-jobs", "x"]) == 1
    assert "--planning-jobs goes with --kubernetes" in capsys.readouterr().err


def test_executors_are_begun_by_spark_alone(capsys):
    assert main.main(["executor"]) == 1
    assert "Spark starts executors, people do not" in capsys.readouterr().err
    assert main.main(["--help"]) == 0
    assert "executor" not in capsys.readouterr().out
