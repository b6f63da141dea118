"""Consumer groups drawn at random, one rebalance and the next; and as questions for Kafka.

Names collide in Java's hash maps and sort differently by code points and by UTF-16 units. Members
claim what others claim, at other generations, and partitions and topics that do not exist.
"""

from dataclasses import replace
from random import Random

from poolkeeper.algorithms.assignors.group import GroupMember, GroupTopic

TOPICS_MAX, PARTITIONS_MAX, MEMBERS_MAX = 6, 12, 8
COLLIDING = ("AaAa", "AaBB", "BBAa", "BBBB", "m", "n", "o", "p", "q")
SORTED_DIFFERENTLY = ("A", "z", "zz", "\u00e9", "\uff00", "\U0001f600", "t-1", "t-10", "t-2")
RACKS = ("a", "b", "c")


class Group:
    """Topics by name and members, as `assign` takes them."""

    def __init__(self, topics, members):
        self.topics, self.members = topics, members

    def __repr__(self):
        return f"Group({self.topics!r}, {self.members!r})"


def drawn_group(random, damaged=True):
    """Return a group of 1 to 8 members and 1 to 6 topics of 0 to 12 partitions.

    In a group that is not damaged members claim only what exists, each something else and all of
    one generation, and every member subscribes to something.
    """
    names = _names(random, "topic", random.randint(1, TOPICS_MAX))
    racks = random.random() < 0.4
    topics = {name: _topic(random, racks and random.random() < 0.9) for name in names}
    subscribed = _subscription(random, names, damaged)
    equal = random.random() < 0.5
    members = [
        GroupMember(
            member,
            random.choice(("i1", "i2", "i\U0001f600", "i\uff00"))
            if random.random() < 0.2
            else None,
            random.choice((*RACKS, "d", "")) if racks and random.random() < 0.8 else None,
            _shuffled(random, subscribed if equal else _subscription(random, names, damaged)),
        )
        for member in _names(random, "consumer", random.randint(1, MEMBERS_MAX))
    ]
    claim = random.choice((_nothing, _distinct, _any) if damaged else (_nothing, _one_generation))
    return Group(topics, claim(random, topics, members))


def next_rebalance(random, group, assignment, damaged=True):
    """Return the group after some members left or joined, and topics grew or vanished."""
    members = [
        replace(
            member,
            owned=tuple(assignment[member.id]),
            generation=7 if damaged and random.random() < 0.1 else 8,
            topics=member.topics
            if random.random() < 0.9
            else _subscription(random, [*group.topics], damaged),
        )
        for member in group.members
        if random.random() < 0.8
    ]
    taken = {member.id for member in group.members}
    subscription = random.choice(group.members).topics
    for member in _names(random, "consumer", random.randint(0 if members else 1, 2)):
        if member not in taken:
            members.append(GroupMember(member, topics=subscription))
    topics = {
        name: _grown(random, topic) if random.random() < 0.2 else topic
        for name, topic in group.topics.items()
        if random.random() < 0.95
    }
    return Group(topics, members or group.members)


def question(group):
    """Return the group as `poolkeeper simulate` and Kafka's side of tests read it."""
    return {
        "topics": {
            name: {"partitions": topic.partitions, "racks": topic.racks}
            for name, topic in group.topics.items()
        },
        "members": [
            {
                "id": member.id,
                "instance_id": member.instance_id,
                "rack": member.rack,
                "topics": member.topics,
                "owned": member.owned,
                "generation": member.generation,
            }
            for member in group.members
        ],
    }


def _names(random: Random, prefix, count):
    kind = random.choice((COLLIDING, SORTED_DIFFERENTLY, None, None))
    if kind is None:
        return [f"{prefix}-{index}-{random.getrandbits(32):x}" for index in range(count)]
    return random.sample(kind, count)


def _topic(random, racks):
    partitions = random.randint(0, PARTITIONS_MAX)
    return GroupTopic(partitions, _racks(random, partitions) if racks else None)


def _racks(random, partitions):
    fewest, most = random.choice(((1, 1), (1, 2), (3, 3), (0, 3)))
    return tuple(
        tuple(random.sample(RACKS, random.randint(fewest, most))) for _ in range(partitions)
    )


def _grown(random, topic):
    more = random.randint(1, 3)
    racks = None if topic.racks is None else topic.racks + _racks(random, more)
    return GroupTopic(topic.partitions + more, racks)


def _subscription(random, names, damaged):
    nothing = damaged and random.random() < 0.1
    topics = random.sample(names, 0 if nothing else random.randint(min(1, len(names)), len(names)))
    if damaged and random.random() < 0.05:
        topics += ["gone", *topics[:1]]
    return tuple(topics)


def _shuffled(random, topics):
    return tuple(random.sample(topics, len(topics)))


def _nothing(random, topics, members):
    return members


def _distinct(random, topics, members):
    """Most partitions belong to some member, unevenly, of the last generation or the one before."""
    weights = [random.random() for _ in members]
    owned = {member.id: [] for member in members}
    for name, partition in _partitions(random, topics, 0):
        if random.random() < 0.8:
            owned[random.choices(members, weights)[0].id].append((name, partition))
    return [
        replace(member, owned=tuple(owned[member.id]), generation=random.choice((5, 5, 5, 4)))
        for member in members
    ]


def _one_generation(random, topics, members):
    return [replace(member, generation=5) for member in _distinct(random, topics, members)]


def _any(random, topics, members):
    everything = _partitions(random, topics, random.choice((0, 0, 2)))
    everything.append(("vanished", 0))
    return [
        replace(
            member,
            owned=tuple(random.choices(everything, k=random.randint(0, 8)))
            if random.random() < 0.2
            else tuple(random.sample(everything, random.randint(0, min(8, len(everything))))),
            generation=random.choice((None, -1, 3, 4, 5, 5, 5)),
        )
        if random.random() < 0.8
        else replace(member, generation=random.choice((None, 7)))
        for member in members
    ]


def _partitions(random, topics, beyond):
    everything = [
        (name, partition)
        for name, topic in topics.items()
        for partition in range(topic.partitions + beyond)
    ]
    random.shuffle(everything)
    return everything
