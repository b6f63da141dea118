"""How long a rebalance takes to compute, ours beside Kafka's own Java on the same groups.

Seconds are of the processor, the best of three, in the same run. Kafka's JVM is the one that tests
ask: its first compiler alone, as in a consumer that has not run for long. Equal subscriptions: 100
topics; then a twentieth of the members is gone and the rest say what they had. Unequal: 20
partitions a topic, up to 20 topics a member; then one member has everything and all others join.

Asserted is growth. Twice the members and partitions may take 3.5 times as long with equal
subscriptions, and 6 times with unequal ones: pairs of member and partition grow fourfold there.
"""

import sys
import time
from dataclasses import replace
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parents[1]))

from consumer_groups import RACKS, Group, question
from kafka_oracle import Oracle, Thrown
from poolkeeper.algorithms.assignors.assign import assign
from poolkeeper.algorithms.assignors.group import Assignor, GroupMember, GroupTopic

EQUAL = (500, 1_000, 2_000)
RACKED_MAX = 1_000
"""With more, the racks of all partitions are a question of minutes."""
UNEQUAL = (100, 200, 400)
EQUAL_GROWTH_MAX, UNEQUAL_GROWTH_MAX = 3.5, 6.0
NOTICED_S = 0.1
"""Growth from less than this says nothing."""
TIMES = 3
ROW = "{:<60}{:>10}{:>10}{:>8}{:>10}"
OF_3_9 = [assignor for assignor in Assignor if assignor != Assignor.STICKY_2_2]
STICKY = [Assignor.STICKY, Assignor.COOPERATIVE_STICKY]


def main() -> None:
    """Print a table; fail if something grows too fast."""
    print(
        ROW.format("case: members × partitions, assignor", "ours s", "Kafka s", "ratio", "growth")
    )
    too_much: list[str] = []
    before: dict[tuple[str, Assignor], float] = {}
    with Oracle("3.9.2") as kafka, Oracle("2.2.2") as kafka_2_2:
        for members, case, group, assignors, most in _cases():
            for assignor in assignors:
                of_2_2 = assignor == Assignor.STICKY_2_2
                kind = "sticky" if of_2_2 else assignor.value
                (theirs,) = (kafka_2_2 if of_2_2 else kafka).ask(
                    f"{kind}_seconds", [question(group)]
                )
                if isinstance(theirs, Thrown):
                    raise SystemExit(f"{case}, {kind}: Kafka throws {theirs}")
                ours = min(_seconds(assignor, group) for _ in range(TIMES))
                last = before.get((case, assignor))
                growth = None if last is None else ours / last
                before[case, assignor] = ours
                partitions = sum(topic.partitions for topic in group.topics.values())
                name = f"{case}: {members} × {partitions}, {assignor.value}"
                print(
                    ROW.format(
                        name,
                        f"{ours:.3f}",
                        f"{theirs:.3f}",
                        f"{ours / theirs:.1f}",
                        "" if growth is None else f"{growth:.1f}",
                    ),
                    flush=True,
                )
                if growth is not None and last is not None and last > NOTICED_S and growth > most:
                    too_much.append(f"{name}: {growth:.1f} times (at most {most})")
    if too_much:
        raise SystemExit(f"twice the size costs too much: {'; '.join(too_much)}")


def _cases():  # type: ignore[no-untyped-def]
    for members in EQUAL:
        fresh = _equal(members)
        yield members, "equal, begin", fresh, OF_3_9, EQUAL_GROWTH_MAX
        yield members, "equal, some leave", _some_leave(fresh), OF_3_9, EQUAL_GROWTH_MAX
        if members <= RACKED_MAX:
            racked = _on_racks(_some_leave(fresh))
            assignors = [Assignor.RANGE, *STICKY]
            yield members, "equal, some leave, racks", racked, assignors, EQUAL_GROWTH_MAX
    assignors = [*STICKY, Assignor.STICKY_2_2]
    for members in UNEQUAL:
        fresh = _unequal(members)
        yield members, "unequal, begin", fresh, assignors, UNEQUAL_GROWTH_MAX
        yield members, "unequal, one had all", _one_had_all(fresh), assignors, UNEQUAL_GROWTH_MAX


def _seconds(assignor: Assignor, group: Group) -> float:
    begin = time.process_time()
    assign(assignor, group.topics, group.members)
    return time.process_time() - begin


def _equal(members: int) -> Group:
    topics = {f"topic-{index}": GroupTopic(members) for index in range(100)}
    return Group(topics, [GroupMember(name, topics=tuple(topics)) for name in _names(members)])


def _unequal(members: int) -> Group:
    random = Random(members)
    topics = {f"topic-{index}": GroupTopic(20) for index in range(members // 2)}
    return Group(
        topics,
        [
            GroupMember(name, topics=tuple(random.sample(list(topics), random.randint(1, 20))))
            for name in _names(members)
        ],
    )


def _names(members: int) -> list[str]:
    random = Random(0)
    return [f"consumer-{index}-{random.getrandbits(64):x}" for index in range(members)]


def _some_leave(group: Group) -> Group:
    assignment = assign(Assignor.STICKY, group.topics, group.members)
    return Group(
        group.topics,
        [
            replace(member, owned=tuple(assignment[member.id]), generation=1)
            for member in group.members[len(group.members) // 20 :]
        ],
    )


def _on_racks(group: Group) -> Group:
    random = Random(1)
    topics = {
        name: GroupTopic(
            topic.partitions, tuple(tuple(random.sample(RACKS, 2)) for _ in range(topic.partitions))
        )
        for name, topic in group.topics.items()
    }
    return Group(topics, [replace(one, rack=random.choice(RACKS)) for one in group.members])


def _one_had_all(group: Group) -> Group:
    owned = [(name, one) for name, topic in group.topics.items() for one in range(topic.partitions)]
    first = replace(group.members[0], topics=tuple(group.topics), owned=tuple(owned), generation=1)
    return Group(group.topics, [first, *group.members[1:]])


if __name__ == "__main__":
    main()
