"""What tenants of a cluster may declare: how much, and which topics that exist they may take over.

Part of a KafkaCluster's spec.
"""

from enum import StrEnum

from poolkeeper.frozen import frozen


class AdoptionPolicy(StrEnum):
    """What happens when a Topic names a Kafka topic that exists and is not its own."""

    APPROVE = "Approve"
    OPEN = "Open"
    NONE = "None"


@frozen
class Adoption:
    """Which Topics may take over a Kafka topic that exists, and whether a person is asked.

    `policy`: None is not declared, which is Open in folders and Approve on Kubernetes.
    `namespaces`, `topics`: who may take over what without a question, the topics as regular
    expressions of whole names; None where no such list is declared. What the lists do not match
    is asked about under Open as well.
    """

    policy: AdoptionPolicy | None = None
    namespaces: tuple[str, ...] | None = None
    topics: tuple[str, ...] | None = None


@frozen
class DeclarationLimits:
    """What may be declared on Kubernetes, by one Topic or by all Topics of a namespace."""

    partitions: int
    config_bytes: int
    manual_lists: int
    topics: int = 1


TOPIC_LIMITS = DeclarationLimits(10_000, 64 * 1024, 10_000)
NAMESPACE_LIMITS = DeclarationLimits(50_000, 4 * 1024**2, 10_000, 5_000)
