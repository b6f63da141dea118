"""What a process remembers of topics that changed while they were read."""

from dataclasses import replace

from builders import cluster, topic
from poolkeeper.model.execution.outcomes import LastObservation
from poolkeeper.model.execution.records import Records
from poolkeeper.reconcile.pass_memory import PassMemory

ORDERS = topic("orders", (1, 2), (2, 3))
NEWS = topic("news", (1, 2))
BEFORE = cluster((1, 2, 3), ORDERS, NEWS)
TORN = replace(cluster((1, 2), NEWS), torn=frozenset({"orders", "unseen"}))
AS_BEFORE = replace(cluster((1, 2), NEWS, ORDERS), torn=frozenset({"unseen"}))


def test_such_a_topic_stands_where_it_was_read_before() -> None:
    memory = PassMemory()
    memory.observe(LastObservation(BEFORE, Records()))
    memory.observe(LastObservation(TORN, Records()))
    assert memory.last_observation == LastObservation(AS_BEFORE, Records())
    memory.observe(LastObservation(cluster((1, 2), NEWS), Records()))
    memory.update_last_observation(TORN)  # of what has gone since nothing is known
    assert memory.last_observation == LastObservation(TORN, Records())


def test_between_two_stages_too() -> None:
    memory = PassMemory()
    memory.observe(LastObservation(BEFORE, Records()))
    memory.update_last_observation(TORN)
    assert memory.last_observation == LastObservation(AS_BEFORE, Records())


def test_without_an_earlier_reading_nothing_is_made_up() -> None:
    memory = PassMemory()
    memory.observe(LastObservation(TORN, Records()))
    assert memory.last_observation == LastObservation(TORN, Records())
