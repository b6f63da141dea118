"""The API server's store is restored from a backup: revisions and generations go back."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from control_plane.planes import ControlPlane
from operated_resources import Scene, operated_by
from poolkeeper.sandbox import Sandbox

pytestmark = pytest.mark.long

CRDS = Path(__file__).parents[2] / "crds"
AUTO = {"mode": "Apply", "approval": {"policy": "Auto"}}
EDITS = 20


@pytest.fixture
def own_scene(zookeeper: Sandbox) -> Iterator[Scene]:
    """One with a control plane of its own: whoever else watches would see nothing for a while."""
    with ControlPlane.start() as plane:
        plane.apply_crds(CRDS)
        with operated_by(plane, zookeeper, "--settle=1s") as operated, Scene(operated) as found:
            yield found


def replace_store(plane: ControlPlane, work: Callable[[], object]) -> None:
    plane.api_server.kill()
    plane.etcd.kill()
    work()
    plane.etcd.start()
    plane.api_server.start()


def test_edits_after_a_restore_are_seen(own_scene: Scene) -> None:
    scene, plane = own_scene, own_scene.plane
    small = {"partitions": 1, "replicationFactor": 1}
    scene.apply(
        scene.cluster(**AUTO), scene.pool("p", 1, 2, 3), scene.topic("edited", "p", **small)
    )
    scene.says("topic", "edited")
    store, backup = plane.folder / "etcd", plane.folder / "backup"
    replace_store(plane, lambda: shutil.copytree(store, backup))
    for edit in range(EDITS):
        scene.patch("topic", "edited", config={"retention.ms": str(100_000_000 + edit)})
    scene.apply(scene.topic("lost", "p", **small))
    scene.says("topic", "edited")
    scene.says("topic", "lost")

    def restore() -> None:
        shutil.rmtree(store)
        shutil.copytree(backup, store)

    replace_store(plane, restore)
    assert not scene.get("topic", "lost")
    scene.patch("topic", "edited", config={"retention.ms": "200000000"})
    scene.says("topic", "edited")
    scene.wait(lambda: scene.config("edited") == {"retention.ms": "200000000"}, "the edit is seen")
    scene.patch("topic", "edited", config={"retention.ms": "300000000"})
    scene.wait(lambda: scene.config("edited") == {"retention.ms": "300000000"}, "it is watched", 60)
    assert scene.topics() == ["edited", "lost"]
