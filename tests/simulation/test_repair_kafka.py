"""`poolkeeper repair` of Kafka's own nodes, with controllers of three eras."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from kazoo.security import OPEN_ACL_UNSAFE as OPEN
from kazoo.security import make_acl, make_digest_acl

from poolkeeper.model.specs import Remedies
from poolkeeper.rehearsal.cluster_copy.fake_session import FakeSession
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import REQUEST, SimulatedCluster, body_of
from poolkeeper.zk import znodes
from poolkeeper.zk.reading import observe
from poolkeeper.zk.repair import kafka_findings
from poolkeeper.zk.repair.values import FAILOVER_FLAG, Examined
from simulation import our_tree
from simulation.our_tree import OURS, OurTree, Poisons, Repair, poisons
from simulation.repaired import ERAS, cluster_of, starts_again, tree_of
from simulation.stuck_runs import deleted_in_flight, made


def poison_with_texts(cluster: SimulatedCluster) -> None:
    cluster.request({("t", 0): ["2", "3"]})
    assert cluster.clock.run_until(lambda: not cluster.exists(REQUEST), 30_000)


def poison_with_nothing(cluster: SimulatedCluster) -> None:
    cluster.request({("t", 0): []})
    assert cluster.clock.run_until(lambda: not cluster.exists(REQUEST), 30_000)
    cluster.clock.advance(1_000)


def poison_with_an_empty_topic(cluster: SimulatedCluster) -> None:
    cluster.create("/brokers/topics/empty", b"")
    cluster.clock.advance(1_000)


POISONINGS = [
    pytest.param(poison_with_texts, "2.0.1", "/brokers/topics/t", id="texts-2.0.1"),
    pytest.param(poison_with_texts, "2.8.2", "/brokers/topics/t", id="texts-2.8.2"),
    pytest.param(poison_with_texts, "3.9.2", "/brokers/topics/t", id="texts-3.9.2"),
    pytest.param(poison_with_nothing, "2.8.2", "/brokers/topics/t", id="no-replicas-2.8.2"),
    pytest.param(poison_with_nothing, "3.9.2", "/brokers/topics/t", id="no-replicas-3.9.2"),
    pytest.param(poison_with_an_empty_topic, "3.9.2", "/brokers/topics/empty", id="empty-3.9.2"),
    pytest.param(poison_with_an_empty_topic, "2.0.1", "/brokers/topics/empty", id="empty-2.0.1"),
]


@pytest.mark.parametrize(("poison", "kafka", "path"), POISONINGS)
@pytest.mark.parametrize("moment", ["before-the-failover", "in-the-crash-loop"])
def test_a_poisoned_topic_is_mended_for_good(
    repair: Repair,
    poison: Callable[[SimulatedCluster], None],
    kafka: str,
    path: str,
    moment: str,
) -> None:
    cluster = cluster_of(kafka)
    poison(cluster)
    tree = tree_of(cluster)
    if moment == "in-the-crash-loop":
        cluster.delete("/controller")
        cluster.clock.advance(4_000)
    shown = repair(tree)
    assert shown.code == 2
    assert path in shown.out
    said = repair(tree, "--yes")
    flapped = cluster.epoch() > 10
    assert said.code == (0 if flapped else 4), said
    if not flapped:
        assert "may write" in said.out
        cluster.delete("/controller")
    cluster.clock.advance(5_000)
    assert repair(tree).code == 0
    assert starts_again(cluster)
    assert cluster.replicas("t") == {"0": [1, 2], "1": [2, 1]}
    assert cluster.state("t")[1] == [1, 2]


@pytest.mark.parametrize("kafka", ERAS)
def test_a_list_that_lacks_what_is_in_sync_is_mended_for_good(repair: Repair, kafka: str) -> None:
    """As two controllers left it that wrote at the same time, each from its memory."""
    cluster = cluster_of(kafka)
    path = "/brokers/topics/t"
    body = cluster.read(path)
    cluster.set(path, {**body, "partitions": {**body["partitions"], "0": [3, 1]}})
    assert cluster.state("t")[1] == [1, 2]
    tree = tree_of(cluster)
    shown = repair(tree, "--output", "json")
    assert shown.code == 2
    found = {each["path"]: each["found"] for each in json.loads(shown.out)["findings"]}
    assert found[path] == 'replicas are in sync and not in the lists: {"0": [2]}'
    said = repair(tree, "--yes", "--allow-controller-failover")
    assert said.code == 0, said
    cluster.settle()
    assert cluster.replicas("t")["0"] == [3, 1, 2]
    assert set(cluster.state("t")[1]) >= {1, 2}
    assert cluster.read(path).get("topic_id") == body.get("topic_id")
    assert repair(tree).code == 0
    assert starts_again(cluster)


@pytest.mark.parametrize("moment", ["before-a-move", "in-the-crash-loop"])
@pytest.mark.parametrize("kafka", ERAS)
def test_an_epoch_that_was_restored_is_raised(repair: Repair, kafka: str, moment: str) -> None:
    """Controllers leave alone what one of a later epoch wrote, and from 2.4 on fail over it."""
    cluster = cluster_of(kafka)
    path = "/brokers/topics/t/partitions/0/state"
    cluster.set(path, {**cluster.read(path), "controller_epoch": 50_000})
    if moment == "in-the-crash-loop":
        cluster.request({("t", 0): [3, 4]})
        assert cluster.clock.run_until(lambda: not cluster.exists(REQUEST), 30_000)
        assert cluster.state("t")[1] == [1, 2]
        cluster.delete("/controller")
        cluster.clock.advance(4_000)
        assert (cluster.epoch() > 10) is (kafka != "2.0.1")
    tree = tree_of(cluster)
    shown = repair(tree)
    assert shown.code == 4
    assert "1 state of partitions, such as t-0, name epochs up to 50000" in shown.out
    assert repair(tree, "--yes").code == 4
    epoch = cluster.epoch()
    assert epoch < 50_000

    said = repair(tree, "--yes", "--allow-controller-failover")
    assert said.code == 0, said
    assert "mended  /controller_epoch" in said.out
    assert cluster.epoch() == 50_001
    assert repair(tree).code == 0
    assert starts_again(cluster)
    cluster.settle()
    cluster.request({("t", 0): [3, 4]})
    assert cluster.clock.run_until(lambda: cluster.replicas("t")["0"] == [3, 4], 30_000)


@pytest.mark.parametrize("kafka", ERAS)
def test_a_failover_that_is_allowed_makes_it_mended_at_once(repair: Repair, kafka: str) -> None:
    cluster = cluster_of(kafka)
    poison_with_texts(cluster)
    epoch = cluster.epoch()
    said = repair(tree_of(cluster), "--yes", "--allow-controller-failover")
    assert said.code == 0, said
    assert epoch < cluster.epoch() < epoch + 3
    assert starts_again(cluster)


@pytest.mark.parametrize("kafka", ["2.8.2", "3.9.2"])
def test_an_unreadable_request_is_removed_and_the_next_one_noticed(
    repair: Repair, kafka: str
) -> None:
    cluster = cluster_of(kafka)
    cluster.create(REQUEST, b"{")
    cluster.clock.advance(2_000)
    assert repair(tree_of(cluster)).code == 2
    assert repair(tree_of(cluster), "--yes", "--allow-controller-failover").code == 0
    cluster.settle()
    cluster.request({("t", 0): [3, 4]})
    assert cluster.clock.run_until(lambda: cluster.replicas("t")["0"] == [3, 4], 30_000)


def test_a_request_that_stays_for_ever_is_removed(repair: Repair) -> None:
    cluster = cluster_of("3.9.2")
    cluster.request({("t", 0): [2, 2, 3]})
    cluster.clock.advance(30_000)
    assert cluster.replicas("t")["0"] == [2, 3]
    assert cluster.exists(REQUEST)
    said = repair(tree_of(cluster), "--yes", "--allow-controller-failover")
    assert said.code == 0, said
    cluster.request({("t", 0): [3, 4]})
    assert cluster.clock.run_until(lambda: cluster.replicas("t")["0"] == [3, 4], 30_000)


def in_flight_of_a_run(kafka: str, again: list[int] | None) -> SimulatedCluster:
    """Return a cluster with a run whose topic is gone, or made again, in the middle of its move."""
    cluster, executor = made(kafka, Remedies(), api=False)
    deleted_in_flight(executor, again)
    return cluster


@pytest.mark.parametrize("kafka", ["3.9.2", "2.0.1"])
@pytest.mark.parametrize("again", [None, [2, 4]], ids=["gone", "made-again"])
def test_a_request_of_a_run_of_which_nothing_is_left_is_left_to_that_run(
    repair: Repair, kafka: str, again: list[int] | None
) -> None:
    cluster = in_flight_of_a_run(kafka, again)
    said = repair(tree_of(cluster), "--yes", "--output", "json")
    assert said.code == 4, said
    found = {each["path"]: each for each in json.loads(said.out)["findings"]}[REQUEST]
    assert "it names, such as t-0" in found["found"]
    assert "which withdraws it by itself" in found["effect"]
    assert cluster.exists(REQUEST)


def test_a_request_of_a_run_and_of_others_is_told_with_its_remedy(repair: Repair) -> None:
    cluster = in_flight_of_a_run("3.9.2", None)
    body = cluster.read(REQUEST)
    body["partitions"] += body_of({("no", 0): [1, 2]})["partitions"]
    cluster.set(REQUEST, body)
    said = repair(tree_of(cluster), "--yes")
    assert said.code == 4, said
    assert "spec.execution.remedies.removeStaleRequests" in said.out
    assert cluster.read(REQUEST) == body


def test_a_request_of_a_run_that_is_worked_on_is_nothing_wrong(repair: Repair) -> None:
    cluster, executor = made("3.9.2", Remedies(), api=False)
    executor.at_rest = lambda _: any(len(ids) > 2 for ids in cluster.replicas("t").values())
    executor.finish()
    assert cluster.exists(REQUEST)
    assert "reassign_partitions" not in repair(tree_of(cluster), "--yes").out
    assert cluster.exists(REQUEST)


@pytest.mark.parametrize("kafka", ERAS)
def test_a_request_that_is_worked_on_is_nothing_wrong(repair: Repair, kafka: str) -> None:
    cluster = cluster_of(kafka)
    cluster.simulation.set_size("t", 0, 10**12)
    cluster.request({("t", 0): [3, 4]})
    cluster.clock.advance(2_000)
    assert cluster.exists(REQUEST)
    assert repair(tree_of(cluster), "--yes").code == 0
    assert cluster.exists(REQUEST)


# Configs


@pytest.mark.parametrize(
    ("body", "code", "config"),
    [
        pytest.param(
            b'{"version":1,"config":{"retention.ms":1,"x":true,"y":"z"}}',
            0,
            {"retention.ms": "1", "x": "true", "y": "z"},
            id="numbers",
        ),
        pytest.param(b"{", 4, None, id="cut-off"),
        pytest.param(b'{"config":{"retention.ms":[]}}', 4, None, id="a-list"),
    ],
)
def test_configs_are_mended_where_their_values_can_be_told(
    repair: Repair, body: bytes, code: int, config: dict[str, str] | None
) -> None:
    tree = OurTree.plant({**OURS, "/config/topics/t": body})
    assert repair(tree, "--yes").code == code
    found = tree.read("/config/topics/t")
    assert found is not None
    assert found == body if config is None else json.loads(found)["config"] == config
    assert bool(tree.client.children("/config/changes")) is (config is not None)


def test_a_config_that_is_declared_is_written_as_declared(tmp_path: Path) -> None:
    tree = OurTree.plant({**OURS, "/config/topics/t": b"{"})
    folder = our_tree.write_manifests(tmp_path)
    words = ("-f", str(folder), "--yes", "--backup", str(tmp_path / "b.json"))
    assert tree.command("repair", *words) == 0
    assert json.loads(tree.read("/config/topics/t") or b"")["config"] == our_tree.KEPT


def test_what_would_mend_a_config_is_told_of_topics_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    of_topic, of_broker = "/config/topics/u", "/config/brokers/1"
    tree = OurTree.plant({**OURS, of_topic: b"{", of_broker: b"{"})
    folder = our_tree.write_manifests(tmp_path, config={})

    def effects(*words: str) -> dict[str, str]:
        said = tree.said(capsys, "repair", "--output", "json", *words)
        return {each["path"]: each["effect"] for each in json.loads(said.out)["findings"]}

    alone, given = effects("fake:2181"), effects("-f", str(folder))
    assert alone[of_broker].endswith("set them by kafka-configs")
    assert alone[of_topic].endswith("give manifests (-f) with a Topic that declares them")
    assert given[of_broker].endswith("set them by kafka-configs")
    assert given[of_topic].endswith("no Topic of the manifests declares a config for this topic")


@pytest.mark.parametrize("path", list(our_tree.KAFKA))
@poisons
def test_whatever_kafkas_nodes_hold_it_is_shown_or_mended(
    repair: Repair, path: str, poisons: Poisons
) -> None:
    turn = [*our_tree.KAFKA].index(path)
    for name, poison in our_tree.in_turn(poisons, turn).items():
        tree = OurTree.plant({**OURS, path: poison(our_tree.KAFKA[path])})
        shown = repair(tree)
        assert shown.code in (0, 2, 4), (name, shown)
        said = repair(tree, "--yes")
        assert said.code in (0, 4), (name, said)


@pytest.mark.parametrize("topics", [1, 300])
def test_the_states_of_many_topics_are_asked_for_together(topics: int) -> None:
    nodes = dict(our_tree.OURS)
    body = json.dumps({"version": 1, "partitions": {"0": [1, 2]}}).encode()
    for number in range(topics):
        nodes[f"/brokers/topics/many-{number:03d}"] = body
        nodes[f"/brokers/topics/many-{number:03d}/partitions/0/state"] = b"{"
    session = Questioned(OurTree.plant(nodes).session())
    reading = observe.cluster(session.session, "main")
    found = list(kafka_findings.findings(Examined(session, reading, None, 0)))  # type: ignore[arg-type]
    assert [each.path for each in found] == [
        f"/brokers/topics/many-{number:03d}/partitions/0/state" for number in range(topics)
    ]
    assert session.questions < 20


class Questioned:
    """A session that counts how often it is asked anything."""

    def __init__(self, session: FakeSession) -> None:
        self.session, self.questions = session, 0

    def __getattr__(self, name: str) -> object:
        self.questions += 1
        return getattr(self.session, name)


NUMBERS = b'{"version":1,"config":{"retention.ms":1000}}'
DENIED = [make_acl("world", "anyone", read=True), make_digest_acl("kafka", "right", all=True)]


@pytest.mark.parametrize(
    ("damaged", "denied", "mended"),
    [
        pytest.param(
            dict.fromkeys(("/config/topics/t", "/config/topics/u"), NUMBERS),
            "/config/topics/t",
            {"/config/topics/u": our_tree.KEPT},
            id="configs",
        ),
        pytest.param(
            our_tree.IN_FORCE,
            "/config/brokers/1",
            {"/config/topics/t": our_tree.KEPT},
            id="throttles",
        ),
    ],
)
def test_a_node_that_may_not_be_written_keeps_no_other_from_being_mended(
    repair: Repair, damaged: dict[str, bytes], denied: str, mended: dict[str, dict[str, str]]
) -> None:
    tree = OurTree.plant({**OURS, **damaged, znodes.STOPPED: b"?"})
    tree.client.log_in("kafka", "right")
    tree.client.set_acl(denied, DENIED)
    for output in ("json", "text"):
        said = repair(tree, "--yes", "--output", output)
        assert said.code == 4
        assert f"setting {denied} is not allowed" in said.out
        assert tree.read(denied) == damaged[denied]
        assert tree.read(znodes.STOPPED) is None
        for path, config in mended.items():
            assert json.loads(tree.read(path) or b"")["config"] == config
    tree.client.set_acl(denied, [*OPEN])
    assert "is not allowed" not in repair(tree, "--yes").out
    assert tree.read(denied) != damaged[denied]


def test_a_node_that_is_too_large_for_the_servers_keeps_no_other_from_being_mended(
    repair: Repair,
) -> None:
    large = NUMBERS.replace(b"1000", b'1000,"of.others":"' + b"x" * 20_000 + b'"')
    nodes = {"/config/topics/t": large, "/config/topics/u": NUMBERS}
    tree = OurTree.plant({**OURS, **nodes})
    tree.client.server.request_bytes_max = 16 * 1024
    said = repair(tree, "--yes")
    assert said.code == 4
    assert "/config/topics/t is not mended: the ZooKeeper servers take no" in " ".join(
        said.out.split()
    )
    assert tree.read("/config/topics/t") == large
    assert json.loads(tree.read("/config/topics/u") or b"")["config"] == our_tree.KEPT
    tree.client.server.request_bytes_max = 64 * 1024
    assert repair(tree, "--yes").code == 0


def test_what_may_be_mended_is_told_where_no_controller_may_be_elected(repair: Repair) -> None:
    cluster = cluster_of("3.9.2")
    poison_with_texts(cluster)
    cluster.client.set_acl("/", [make_acl("world", "anyone", read=True, write=True, create=True)])
    said = repair(tree_of(cluster), "--yes", FAILOVER_FLAG)
    assert (said.code, "no other controller is elected: deleting /controller" in said.out) == (
        4,
        True,
    )
