"""The paths of all znodes that Poolkeeper reads or writes; no other module writes one down."""

from collections.abc import Iterable

# Kafka's, without a body of their own

BROKER_IDS = "/brokers/ids"
TOPICS = "/brokers/topics"
CLUSTER_ID = "/cluster/id"
CONTROLLER = "/controller"
CONTROLLER_EPOCH = "/controller_epoch"
FEATURES = "/feature"
MIGRATION = "/migration"
REASSIGNMENT = "/admin/reassign_partitions"
PREFERRED_ELECTION = "/admin/preferred_replica_election"
DELETED_TOPICS = "/admin/delete_topics"
TOPIC_CONFIGS = "/config/topics"
BROKER_CONFIGS = "/config/brokers"
CONFIG_CHANGE = "/config/changes/config_change_"
"""Created with a sequence number; there is nothing to read back."""
DELEGATION_TOKENS = "/delegation_token"
PRODUCER_IDS = "/latest_producer_id_block"
LOG_DIR_EVENTS = "/log_dir_event_notification"

# Ours; their bodies belong to the journal

ROOT = "/poolkeeper"
HOLDER = "/poolkeeper/holder"
EPOCH = "/poolkeeper/epoch"
RUN = "/poolkeeper/run"
RUN_STOP = "/poolkeeper/run/stop"
ASKED = "/poolkeeper/asked"
STOPPED = "/poolkeeper/stopped"
APPROVALS = "/poolkeeper/approvals"
RECORDS = "/poolkeeper/records"
RECORD_OF_CLUSTER = "/poolkeeper/records/cluster"
RECORD_OF_BROKERS = "/poolkeeper/records/brokers"
RECORD_OF_BALANCE = "/poolkeeper/records/balance"
RECORD_OF_REQUEST = "/poolkeeper/records/request"
RECORDS_OF_TOPICS = "/poolkeeper/records/topics"
HISTORY = "/poolkeeper/history"
RECORDS_OF_THROTTLES = "/poolkeeper/records/throttles"
_TOPIC_THROTTLES = "topic:"
_BROKER_THROTTLES = "broker:"


def plan_chunk(number: int, parent: str = RUN) -> str:
    """Return the path of a chunk of a plan; names sort like numbers."""
    return f"{parent}/plan-{number:04d}"


def holder_of_session(id_: int) -> str:
    """Return the path of what one session holds the journal by; `id_` may be negative."""
    return f"{HOLDER}-{id_ & (2**64 - 1):016x}"


def finished_run(number: int) -> str:
    """Return the path of an entry of the history; names sort like numbers."""
    return f"{HISTORY}/{number:010d}"


def record_of_topic(topic: str) -> str:
    """Return the path of a topic's ownership record."""
    return f"{RECORDS_OF_TOPICS}/{topic}"


def throttles_of_topic(name: str) -> str:
    """Return the path of the record of a topic's throttles."""
    return f"{RECORDS_OF_THROTTLES}/{_TOPIC_THROTTLES}{name}"


def throttles_of_broker(id_: int) -> str:
    """Return the path of the record of a broker's throttles."""
    return f"{RECORDS_OF_THROTTLES}/{_BROKER_THROTTLES}{id_}"


def throttled_entity(child: str) -> str | int | None:
    """Return the topic or the broker that a record of throttles is about; None for neither."""
    name = child.removeprefix(_BROKER_THROTTLES)
    if name != child:
        id_ = int(name) if name.isascii() and name.isdecimal() and len(name) <= 10 else -1
        return id_ if name == str(id_) else None
    name = child.removeprefix(_TOPIC_THROTTLES)
    return name if name and name != child else None


def broker(id_: int | str) -> str:
    """Return the path of a broker's registration."""
    return f"{BROKER_IDS}/{id_}"


def topic(name: str) -> str:
    """Return the path of a topic's assignment."""
    return f"{TOPICS}/{name}"


def state(name: str, partition: int) -> str:
    """Return the path of a partition's leader and ISR."""
    return f"{TOPICS}/{name}/partitions/{partition}/state"


def states(name: str, partitions: Iterable[int]) -> tuple[str, ...]:
    """Return those paths of many partitions of a topic."""
    above = f"{TOPICS}/{name}/partitions/"
    return tuple([f"{above}{partition}/state" for partition in partitions])


def deletion(name: str) -> str:
    """Return the path of a topic's deletion marker; its name is the request, it has no body."""
    return f"{DELETED_TOPICS}/{name}"


def topic_config(name: str) -> str:
    """Return the path of a topic's config."""
    return f"{TOPIC_CONFIGS}/{name}"


def broker_config(id_: int | str) -> str:
    """Return the path of a broker's dynamic config; `<default>` is the one of all brokers."""
    return f"{BROKER_CONFIGS}/{id_}"
