"""Commands that messages name: they can be pasted as they are."""

from pathlib import Path

import click
import pytest

from poolkeeper.cli.input.options import ClusterSelection, address_of
from poolkeeper.cli.output import hints, printing
from poolkeeper.cli.output.hints import AddressOptions
from poolkeeper.cli.output.runs import status_text
from poolkeeper.cli.output.runs.status_values import Status
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait

FOLDER = ClusterSelection((Path("my files"),), "main", client_config=Path("c.ini")).in_hints
SEVERAL = ClusterSelection((Path("m"),)).in_hints
DIRECT = ClusterSelection((), None, "zk:2181/k", ("b:9092", "c:9092")).in_hints


@pytest.fixture(autouse=True)
def _no_address_stays():
    yield
    hints.printed_for(AddressOptions())


@pytest.mark.parametrize(
    ("address", "text", "told"),
    [
        pytest.param(
            FOLDER,
            "see `poolkeeper repair`",
            "see `poolkeeper repair -f 'my files' --cluster main --client-config c.ini`",
            id="manifests",
        ),
        pytest.param(
            DIRECT,
            "see `poolkeeper repair --remove-x`.",
            "see `poolkeeper repair --remove-x --zookeeper zk:2181/k --bootstrap b:9092,c:9092`.",
            id="direct",
        ),
        pytest.param(
            DIRECT,
            "`poolkeeper apply` or `run` takes it up",
            "`poolkeeper apply -f DIR` or `run` takes it up",
            id="what-takes-manifests-alone",
        ),
        pytest.param(
            SEVERAL, "`poolkeeper stop`", "`poolkeeper stop -f m --cluster eu`", id="of-several"
        ),
        pytest.param(
            SEVERAL, "`poolkeeper run`", "`poolkeeper run -f m`", id="what-keeps-them-all"
        ),
        pytest.param(
            FOLDER, "`poolkeeper validate`", "`poolkeeper validate -f 'my files'`", id="validate"
        ),
        pytest.param(
            FOLDER,
            "`poolkeeper status --zookeeper zk-2` tells",
            "`poolkeeper status --zookeeper zk-2` tells",
            id="what-is-complete",
        ),
        pytest.param(
            FOLDER,
            "held by poolkeeper run on host-1, process 7",
            "held by poolkeeper run on host-1, process 7",
            id="a-process-that-runs",
        ),
        pytest.param(FOLDER, "`poolkeeper fleet`", "`poolkeeper fleet`", id="of-no-cluster"),
        pytest.param(AddressOptions(), "`poolkeeper stop`", "`poolkeeper stop`", id="no-address"),
    ],
)
def test_a_hint_has_the_options_of_the_command_that_prints_it(address, text, told):
    hints.printed_for(address)
    assert hints.complete_commands(text, "eu") == told
    assert hints.complete_commands(told, "eu") == told


def test_the_address_is_that_of_the_options(capsys):
    with click.Context(click.Command("status")):
        address_of(
            "zk:2181",
            folders=(),
            cluster=None,
            zookeeper=None,
            bootstrap=None,
            client_config=None,
            timeout_s=1,
        )
    printing.warn(["see `poolkeeper status`"])
    assert capsys.readouterr().err == "warning: see `poolkeeper status --zookeeper zk:2181`\n"


def test_status_names_whole_commands():
    waits = (Wait(WaitReason.RUN_WITHOUT_EXECUTOR),)
    found = Status("main", None, None, 1, 1, 0, 0, (), (), (), None, None, None, waits)
    hints.printed_for(SEVERAL)
    assert "start `poolkeeper apply -f m --cluster main` or `run`" in status_text.render(found)
