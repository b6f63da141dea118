"""What brokers are asked about a topic's config before it is written."""

from collections.abc import Mapping

from poolkeeper.frozen import frozen
from poolkeeper.model.topology import Replicas


@frozen
class ConfigCheck:
    """A question: may the topic have this whole config? `replicas`: its lists, if it is created."""

    topic: str
    config: Mapping[str, str]
    replicas: tuple[Replicas, ...] | None = None
