"""Which clusters `poolkeeper ui` shows, and what it makes of manifests that change."""

import json
import socket
from pathlib import Path

import pytest

import manifests
from poolkeeper.cli.commands.ui import live_pages, rehearsal_page
from poolkeeper.cli.commands.ui.live_pages import DeclaredInFolder
from poolkeeper.cli.input.options import ClusterSelection
from poolkeeper.errors import InvalidInput, Refused, Unavailable
from poolkeeper.ui.registry import LivePages


def declare(folder: Path, *names: str, connect: str = "") -> None:
    for name in names:
        body = manifests.body(
            "KafkaCluster", name, {"zookeeper": {"connect": connect or f"{name}:2181"}}
        )
        (folder / f"{name}.yaml").write_text(json.dumps(body))


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        pytest.param({}, ["alpha", "beta"], id="all-of-the-manifests"),
        pytest.param({"cluster": "beta"}, ["beta"], id="one-of-them"),
        pytest.param({"folders": (), "zookeeper": "zk:2181/kafka"}, ["kafka"], id="by-address"),
    ],
)
def test_the_clusters_that_are_shown(
    tmp_path: Path, selection: dict[str, object], expected: list[str]
) -> None:
    declare(tmp_path, "alpha", "beta")
    address = ClusterSelection(**{"folders": (tmp_path,), **selection})
    clusters = live_pages.all_pages(address)
    assert [each.name for each in clusters] == expected
    pages = [
        f"/clusters/{expected[0]}/{name}"
        for name in ("run", "pools", "plan", "rehearsal", "history")
    ]
    assert [path for path in LivePages(clusters).views if expected[0] in path] == pages


def test_wrong_manifests_are_refused_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "other.yaml").write_text('{"apiVersion": "v1", "kind": "ConfigMap"}')
    with pytest.raises(Refused, match="hold no KafkaCluster"):
        live_pages.all_pages(ClusterSelection((tmp_path,)))
    (tmp_path / "wrong.yaml").write_text('{"kind": "KafkaCluster"}')
    with pytest.raises(InvalidInput):
        live_pages.all_pages(ClusterSelection((tmp_path,)))


def test_manifests_that_change_are_read_again(tmp_path: Path) -> None:
    declare(tmp_path, "main")
    declared = DeclaredInFolder(ClusterSelection((tmp_path,), "main"))
    first = declared.target()
    assert declared.target() is first
    declare(tmp_path, "main", connect="other:2181")
    assert declared.target().connect == "other:2181"
    (tmp_path / "main.yaml").write_text('{"kind": "KafkaCluster"}')
    for _ in range(2):
        with pytest.raises(InvalidInput):
            declared.target()
    declare(tmp_path, "main")
    assert declared.target().connect == "main:2181"


def refused_by_all(folder: Path) -> None:
    declared = DeclaredInFolder(ClusterSelection((folder,), "main", timeout_s=0.2))
    for look in (
        live_pages.StatusLook(declared).look,
        lambda: live_pages.history(declared),
        lambda: live_pages.plan(declared),
        lambda: rehearsal_page.look(declared.target(), declared.words),
    ):
        with pytest.raises(Unavailable):
            look()


@pytest.mark.slow
def test_a_cluster_that_is_away_is_unavailable_to_every_look(tmp_path: Path) -> None:
    with socket.socket() as bound:  # nobody listens there
        bound.bind(("127.0.0.1", 0))
        declare(tmp_path, "main", connect=f"127.0.0.1:{bound.getsockname()[1]}")
        refused_by_all(tmp_path)
