"""A plan that full disks bring to a halt says so, with numbers, and does what it can."""

from builders import cluster_spec, pool_spec, topic_spec
from poolkeeper.cli.commands.plans import plan
from poolkeeper.cli.output.ink import Ink
from poolkeeper.cli.output.plans import plan_text
from poolkeeper.model import specs, topology
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.records import Records
from poolkeeper.model.readings import ClusterReading
from poolkeeper.reconcile.observe.observation import Observation

GIB = 2**30


def test_a_plan_names_what_finds_no_room_and_how_much_is_enough() -> None:
    """Two topics shall change places, and neither broker can hold both."""
    disk = specs.Capacity(disk_bytes=10 * GIB)
    pools = tuple(pool_spec(name, id, capacity=disk) for name, id in (("p", 1), ("q", 2)))
    topics = tuple(topic_spec(name, pool) for name, pool in (("a", "q"), ("b", "p")))
    cluster = topology.Cluster(
        "main",
        {id: topology.Broker(id, None) for id in (1, 2)},
        {
            name: topology.Topic(
                name,
                (topology.Partition(0, (id,), leader=id, isr=(id,), size_bytes=8 * GIB),),
                config={},
            )
            for name, id in (("a", 1), ("b", 2))
        },
        id="c",
    )
    kafka = cluster_spec()
    desired = Desired(kafka, pools, topics)
    seen = Observation(ClusterReading(cluster), cluster, Records(), frozenset())
    made = plan.audited_plan(desired, seen, prune=False)
    assert (made.stages, made.makespan) == ((), None)
    assert [problem.message for problem in made.problems] == [
        "a-0 needs 8 GiB on broker 2, which has 2 GiB left below its high-water mark; b-0"
        " needs 8 GiB on broker 1, which has 2 GiB left below its high-water mark. Free"
        " 6 GiB on broker 1, or free 6 GiB on broker 2"
    ]
    text = plan_text.render(made, desired, cluster, (), Ink(400))
    assert "• a-0 needs 8 GiB on broker 2" in text
