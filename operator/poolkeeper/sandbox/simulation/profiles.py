"""How Kafka releases differ in what they write to ZooKeeper, as one value.

Three eras of reassignment:

* WATCHED (to 1.0): the request node's data is watched; whatever it says is begun, and each
  completion subtracts itself from what the node says then.
* REMEMBERED (1.1 to 2.3): only the creation of the node is noticed. The controller's own list
  counts: it overwrites the node, re-creates it, and forgets everything when the controller changes
  while the node is gone.
* RECORDED (2.4 and later): moves are recorded in the topic node and survive; the request node is
  only a way to ask.
"""

from enum import StrEnum

from poolkeeper.frozen import frozen


class Era(StrEnum):
    """How reassignments are remembered."""

    WATCHED = "by watching the request"
    REMEMBERED = "in the controller's memory"
    RECORDED = "in the topic node"


@frozen
class Profile:
    """One Kafka release, by its version's numbers."""

    version: tuple[int, ...]

    @classmethod
    def of(cls, version: str) -> "Profile":
        """Return the profile of a version such as `3.9.2`."""
        return cls(tuple(int(part) for part in version.split(".")))

    @property
    def era(self) -> Era:
        """How reassignments are remembered."""
        if self.version < (1, 1):
            return Era.WATCHED
        return Era.REMEMBERED if self.version < (2, 4) else Era.RECORDED

    @property
    def fenced(self) -> bool:
        """Whether each of the controller's writes checks the epoch node in one transaction."""
        return self.version >= (2, 1)

    @property
    def registers_twice(self) -> bool:
        """Whether a registration is created empty and then set, in one transaction."""
        return self.version >= (2, 2)

    @property
    def registration_format(self) -> int:
        """The `version` of a broker's registration."""
        return 5 if self.version >= (2, 7) else 4

    @property
    def strict_requests(self) -> bool:
        """Whether an unknown key makes a reassignment request invalid."""
        return self.version >= (2, 0)

    @property
    def rewrites_after_start(self) -> bool:
        """Whether the request is written back when all its moves were begun, or deleted if none."""
        return (2, 0) <= self.version < (2, 4)

    @property
    def controller_writes_isr(self) -> bool:
        """Whether leaders ask the controller to change an ISR instead of writing it."""
        return self.version >= (2, 7)

    @property
    def outlives_log_dirs(self) -> bool:
        """Whether a broker goes on without a log directory that failed, while it has others."""
        return self.version >= (1, 0)

    @property
    def has_topic_ids(self) -> bool:
        """Whether topics get an id."""
        return self.version >= (2, 8)

    @property
    def knows_kraft(self) -> bool:
        """Whether `/controller` tells of KRaft."""
        return self.version >= (3, 4)

    @property
    def skips_elections(self) -> bool:
        """Whether preferred elections skip unknown partitions and leaders that are preferred."""
        return self.version >= (2, 2)

    @property
    def refuses_empty_topics(self) -> bool:
        """Whether a topic node without a body is an error, not a topic without partitions."""
        return self.version >= (2, 3, 1)

    @property
    def elects_by_topic_config(self) -> bool:
        """Whether a topic that comes to allow unclean elections gets its leaders at once.

        Seen on 2.3.1 and not on 2.0.1; between them it was not tried.
        """
        return self.version >= (2, 1)

    @property
    def has_default_throttles(self) -> bool:
        """Whether throttle rates in the brokers' common config count."""
        return self.version >= (3, 9)
