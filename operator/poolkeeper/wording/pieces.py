"""Pieces of sentences: names, numbers and verbs as all sentences show them."""

from collections.abc import Sequence

from poolkeeper.text import count, few, named, size_of_mib

NAMED_MAX = 5
MIB = 1024**2

STALE = (
    "nothing is left to do of the request in /admin/reassign_partitions, "
    "which blocks every later one as long as it stays"
)
UNNOTICED = (
    "the controller does not act on the reassignment request: it may have stopped noticing new ones"
)


def node_too_large(topic: str) -> str:
    """Return why no partition of a topic moves whose node is too large for it."""
    return (
        f"the znode of topic {topic} is too large for any move: raise jute.maxbuffer of the"
        " ZooKeeper servers to several times its size"
    )


def topic_too_large(topic: str, size_bytes: int, most: int) -> str:
    """Return why a topic is not written; `most`: that we write at once, 0 for the servers' limit.

    The exact number is what `jute.maxbuffer` is compared with.
    """
    what = f"what is to be written of topic {topic} at once takes {size_bytes:,} bytes"
    if most:
        return (
            f"{what}, above the {most:,} that Poolkeeper writes: declare fewer partitions, or a"
            " shorter config"
        )
    return (
        f"{what}, which the ZooKeeper servers do not take: raise their jute.maxbuffer to several"
        " times that"
    )


def few_of(names: Sequence[object]) -> str:
    """Return names with commas, and how many more there are."""
    return few(names, NAMED_MAX, grouped=False)


def were(items: Sequence[object]) -> str:
    """Return the verb for so many items."""
    return "was" if len(items) == 1 else "were"


def lack(number: int) -> str:
    """Return the verb for that number."""
    return "lacks" if number == 1 else "lack"


def are(items: Sequence[object]) -> str:
    """Return the verb for so many items."""
    return "is" if len(items) == 1 else "are"


def brokers_are(ids: Sequence[int]) -> str:
    """Return brokers and the verb, as "broker 1 is" and "brokers 1, 2 are"."""
    return f"{named('broker', ids)} {are(ids)}"


def between_log_dirs(count: int) -> str:
    """Return how many replicas change their log directory."""
    return f"{counted(count, 'replica')} between log directories"


def amount_on_broker(amount: tuple[int, int]) -> str:
    """Return a broker's bytes, given as its id and the bytes."""
    broker, size_bytes = amount
    return f"{size_of_mib(whole_mib(size_bytes), up=True)} on broker {broker}"


def whole_mib(size_bytes: int) -> int:
    """Return the MiB that hold so many bytes."""
    return -(-size_bytes // MIB)


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural where it has to be."""
    return count(number, noun, grouped=False)


def mode_line(cluster: str) -> str:
    """Return the command that lets a cluster be written to."""
    patch = '{"spec":{"mode":"Apply"}}'
    return f"kubectl patch kafkacluster {cluster} --type=merge -p '{patch}'"


def deletion_taken_back(topic: str) -> str:
    """Tell of a deletion that came to nothing."""
    return (
        f"topic {topic} was to be deleted, the request is gone and the topic is not: a controller"
        " that runs with delete.topic.enable=false takes such requests back (set it on all brokers"
        " and restart them)"
    )
