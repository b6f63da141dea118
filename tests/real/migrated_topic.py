"""The topic of a migration: its records, and its clients at work."""

import time
from collections.abc import Sequence

from kafka import KafkaConsumer, KafkaProducer

import traffic

TOPIC = "t"
PARTITIONS = 4
ORIGIN = [(1, 2), (2, 1)] * 2
BATCH_BYTES = 64 * 1024
DELIVERY_S = 900
"""Before Kafka 2.4, a leader whose ISR is to grow takes no records while ZooKeeper is away."""


class Clients(traffic.Traffic):
    """A producer and a consumer; what was acknowledged is read again in the end."""

    def read_again(self, deadline_s: float = 60) -> list[str]:
        """Return what is wrong with what somebody reads now who begins where these began."""
        wrong: list[str] = []
        found = dict.fromkeys(self._partitions, 0)
        consumer = KafkaConsumer(
            bootstrap_servers=self._bootstrap.split(","), auto_offset_reset="none"
        )
        try:
            consumer.assign(self._partitions)
            for partition, offset in self._begin.items():
                consumer.seek(partition, offset)
            end = time.monotonic() + deadline_s
            while time.monotonic() < end and any(
                found[each] < self._acknowledged[each] for each in self._partitions
            ):
                for partition, records in consumer.poll(timeout_ms=500).items():
                    for record in records:
                        number = int(record.value[: -len(traffic.PAYLOAD)])
                        if number != found[partition]:
                            wrong.append(f"{partition}: {number} where {found[partition]} was due")
                        found[partition] = number + 1
        finally:
            consumer.close()
        missing = {p: self._acknowledged[p] for p in found if found[p] < self._acknowledged[p]}
        return [*wrong, *(f"{p}: {found[p]} of {n} are there" for p, n in missing.items())]


def fill(bootstrap: str, batches: Sequence[int]) -> None:
    """Put so many batches of 64 KiB into each partition; brokers write them out themselves."""
    producer = KafkaProducer(
        bootstrap_servers=bootstrap.split(","), acks="all", compression_type="gzip"
    )
    for number in range(max(batches)):
        for partition in (p for p, count in enumerate(batches) if number < count):
            producer.send(TOPIC, value=b"x" * (BATCH_BYTES - 512), partition=partition)
        producer.flush(timeout=60)
    producer.close(timeout=10)
