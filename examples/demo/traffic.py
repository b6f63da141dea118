"""Clients that never stop: a producer and a consumer that notice every lost or reordered record.

Each record carries the number that its partition's counter had. The producer is idempotent and
waits for all in-sync replicas, so that a record it was promised must be there, once and in order;
the consumer checks every partition's numbers as they come. Moves of replicas under such traffic
must leave no trace in the tally.
"""

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import KafkaError

FETCH_BYTES = 1024 * 1024
FLUSH_S = 120
"""How long records that were sent last may take until they are acknowledged."""
BATCH = 100
"""Records sent at once; requests cost brokers the most, so that few small batches spare them."""
PAYLOAD = b"." * 200


@dataclass(slots=True)
class Tally:
    """What the clients saw. `problems` holds at most `PROBLEMS_MAX` sentences."""

    sent: int = 0
    acknowledged: int = 0
    received: int = 0
    problems: list[str] = field(default_factory=list)

    def note(self, sentence: str) -> None:
        """Keep a problem, unless there are enough."""
        if len(self.problems) < PROBLEMS_MAX:
            self.problems.append(sentence)


PROBLEMS_MAX = 20


class Traffic:
    """A producer and a consumer over all partitions of some topics, in two threads.

    `topics` maps names to partition counts. The producer sends about `records_per_s` in all,
    partition after partition. What the topics hold already is not read: checksums of megabytes in
    Python would take the processor from the brokers. The producer gives a record up that nobody has
    acknowledged after `delivery_s`. Use as a context manager, or `start` and `finish`.
    """

    def __init__(
        self,
        bootstrap: str,
        topics: Mapping[str, int],
        *,
        records_per_s: float = 150,
        delivery_s: int = 120,
    ) -> None:
        self.tally = Tally()
        self._bootstrap = bootstrap
        self._partitions = [
            TopicPartition(t, p) for t, n in sorted(topics.items()) for p in range(n)
        ]
        self._records_per_s = records_per_s
        self._delivery_s = delivery_s
        self._begin: Mapping[TopicPartition, int] = {}
        self._next = dict.fromkeys(self._partitions, 0)
        self._acknowledged = dict.fromkeys(self._partitions, 0)
        self._expected = dict.fromkeys(self._partitions, 0)
        self._stop_sending = threading.Event()
        self._stop_reading = threading.Event()
        self._threads: Sequence[threading.Thread] = ()

    def __enter__(self) -> "Traffic":
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._stop_sending.set()
        self._stop_reading.set()
        for thread in self._threads:
            thread.join(60)

    def start(self) -> None:
        """Start both clients; the consumer begins where the partitions end now."""
        self._begin = self._ends()
        self._threads = [
            threading.Thread(target=self._send, name="producer", daemon=True),
            threading.Thread(target=self._read, name="consumer", daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def finish(self, deadline_s: float = 60) -> Tally:
        """Stop sending, wait until everything acknowledged was read, and return the tally."""
        sender, reader = self._threads
        self._stop_sending.set()
        sender.join(2 * FLUSH_S)
        end = time.monotonic() + deadline_s
        while time.monotonic() < end and self._behind():
            time.sleep(0.05)
        self._stop_reading.set()
        reader.join(max(1.0, end - time.monotonic()))
        for partition in self._behind():
            self.tally.note(
                f"{partition.topic}-{partition.partition}: {self._acknowledged[partition]} records "
                f"acknowledged, {self._expected[partition]} read"
            )
        return self.tally

    def _ends(self) -> Mapping[TopicPartition, int]:
        consumer = KafkaConsumer(bootstrap_servers=self._bootstrap.split(","))
        try:
            ends: Mapping[TopicPartition, int] = consumer.end_offsets(self._partitions)
            return ends
        finally:
            consumer.close()

    def _behind(self) -> list[TopicPartition]:
        return [p for p in self._partitions if self._expected[p] < self._acknowledged[p]]

    def _send(self) -> None:
        producer = KafkaProducer(
            bootstrap_servers=self._bootstrap.split(","),
            acks="all",
            enable_idempotence=True,
            linger_ms=5,
            request_timeout_ms=20_000,
            delivery_timeout_ms=self._delivery_s * 1000,
            metadata_max_age_ms=5_000,
        )
        try:
            while not self._stop_sending.is_set():
                for start in range(0, len(self._partitions), BATCH):
                    some = self._partitions[start : start + BATCH]
                    for partition in some:
                        self._send_one(producer, partition)
                    if self._stop_sending.wait(len(some) / self._records_per_s):
                        break
            producer.flush(timeout=FLUSH_S)
        except KafkaError as error:
            self.tally.note(f"producer: {error!r}")
        finally:
            producer.close(timeout=10)

    def _send_one(self, producer: KafkaProducer, partition: TopicPartition) -> None:
        number = self._next[partition]
        self._next[partition] = number + 1
        self.tally.sent += 1
        value = str(number).encode() + PAYLOAD
        future = producer.send(partition.topic, value=value, partition=partition.partition)
        future.add_callback(lambda _: self._acknowledge(partition, number))
        future.add_errback(
            lambda error: self.tally.note(
                f"{partition.topic}-{partition.partition}: record {number} refused: {error!r}"
            )
        )

    def _acknowledge(self, partition: TopicPartition, number: int) -> None:
        self.tally.acknowledged += 1
        self._acknowledged[partition] = max(self._acknowledged[partition], number + 1)

    def _read(self) -> None:
        consumer = KafkaConsumer(
            bootstrap_servers=self._bootstrap.split(","),
            enable_auto_commit=False,
            auto_offset_reset="none",
            metadata_max_age_ms=5_000,
            # Brokers answer twice a second, and not once for each record: they have other work.
            fetch_min_bytes=FETCH_BYTES,
            fetch_max_wait_ms=500,
        )
        try:
            consumer.assign(self._partitions)
            for partition, offset in self._begin.items():
                consumer.seek(partition, offset)
            while not self._stop_reading.is_set():
                for partition, records in consumer.poll(timeout_ms=200).items():
                    for record in records:
                        self._check(partition, record.value)
        except KafkaError as error:
            self.tally.note(f"consumer: {error!r}")
        finally:
            consumer.close()

    def _check(self, partition: TopicPartition, value: bytes) -> None:
        number = int(value[: -len(PAYLOAD)])
        expected = self._expected[partition]
        if number != expected:
            self.tally.note(
                f"{partition.topic}-{partition.partition}: record {number} read "
                f"where {expected} was expected"
            )
        self._expected[partition] = number + 1
        self.tally.received += 1


def fill(
    bootstrap: str,
    topics: Mapping[str, int],
    bytes_per_partition: int,
    *,
    compression: str | None = None,
) -> None:
    """Put data into every partition of the topics (`{name: partitions}`), acknowledged by all.

    A checksum in Python takes a second per MiB that is sent. With compression `gzip`, and brokers
    or topics whose `compression.type` is `uncompressed`, the brokers write out the full size
    themselves.
    """
    producer = KafkaProducer(
        bootstrap_servers=bootstrap.split(","),
        acks="all",
        batch_size=256 * 1024,
        linger_ms=20,
        compression_type=compression,
    )
    chunk = b"x" * 32 * 1024
    futures = [
        producer.send(name, value=chunk, partition=partition)
        for name, partitions in sorted(topics.items())
        for partition in range(partitions)
        for _ in range(max(1, bytes_per_partition // len(chunk)))
    ]
    producer.flush(timeout=300)
    for future in futures:
        future.get(timeout=60)
    producer.close(timeout=10)
