"""What is left of one stage while it is packed.

`span_bytes` caps what any side carries, so that brokers finish together. Sides are those of
`entries`.
"""

from collections.abc import Sequence
from operator import sub

from poolkeeper.algorithms.sizes import reassignment_bytes
from poolkeeper.model.specs import Execution
from poolkeeper.planning.staging.entries import EntryTable
from poolkeeper.planning.staging.limits import Bounds, bytes_around, line_bytes, record_bytes


class StageCapacity:
    """What is left of one stage.

    `held` and `replicas`: the bytes and replicas that each side carries in it.
    `taken`: its steps, in the order in which they joined. `bytes`: what it copies in all.
    `full_topics`: those that reach their cap.
    `blocked`: a bit for each side that reaches its limit of replicas. No step fits that has one of
    them in `EntryTable.sides`.
    `in_flight`: replicas that it adds; a step that adds none counts as one.
    `is_span_firm`: whether no step may be longer than the span; else the first of its sides may be.
    """

    def __init__(
        self,
        table: EntryTable,
        execution: Execution,
        bounds: Bounds,
        caps: Sequence[int],
        span_bytes: int,
    ) -> None:
        """`caps`: by topic of the table, how many of its partitions may be in one stage."""
        self.span_bytes = span_bytes
        self.is_span_firm = False
        self.bytes = 0
        self.in_flight = 0
        self.taken: list[int] = []
        sides = 2 * len(table.brokers)
        self.held = [0] * sides
        self.replicas = [0] * sides
        self.full_topics: set[int] = set()
        self.blocked = 0
        self._counted = 0, [0] * sides, [0] * sides
        self._table = table
        self._into, self._out = table.into, table.out
        self._size, self._bytes = table.size, table.bytes
        self._topic, self._request = table.topic, table.request_bytes
        self._replicas_max = execution.max_moves
        self._replicas_of_side_max = execution.max_moves_per_broker
        self._bytes_max = execution.max_bytes
        self._bounds = bounds
        self._caps = caps
        self._topics: dict[int, int] = {}
        self._request_bytes = reassignment_bytes(())
        self._transaction_bytes = 0
        self._record_bytes = 0
        self._bytes_at_most = self._request_bytes
        self._unmeasured: list[tuple[int, int]] = []
        self._request_bytes_surely = min(
            bounds.request_bytes, bounds.transaction_bytes, bounds.record_bytes
        )

    @property
    def full(self) -> bool:
        """Whether the stage reaches the cluster's limit of replicas in flight."""
        return self.in_flight >= self._replicas_max

    def fits(self, row: int) -> bool:
        """Whether the step may join; any step fits into an empty stage."""
        topic = self._topic[row]
        taken = self._topics.get(topic, 0)
        if taken >= self._caps[topic] or not self._topics:
            return not self._topics  # the usual cause is the cap of a large topic
        into, carried = self._into[row], self._bytes[row]
        if into:
            replicas, held, span = self.replicas, self.held, self.span_bytes
            out, most = self._out[row], self._replicas_of_side_max
            if self.is_span_firm and carried > span:
                return False
            if (count := replicas[out]) and (
                held[out] + carried > span or count + len(into) > most
            ):
                return False
            size = self._size[row]
            for side in into:
                if (count := replicas[side]) and (count >= most or held[side] + size > span):
                    return False
        if (
            self.in_flight + (len(into) or 1) > self._replicas_max
            or self.bytes + carried > self._bytes_max
            or (not taken and len(self._topics) >= self._bounds.topics)
        ):
            return False
        most = self._bytes_at_most + self._request[row]
        return most <= self._request_bytes_surely or self._fits_request(row, taken)

    def _fits_request(self, row: int, taken: int) -> bool:
        """Whether the request, its transaction and its record have room for it, exactly."""
        self._measure()
        bounds, entry = self._bounds, self._table.entry(row)
        request = self._request_bytes + line_bytes(entry)
        transaction = self._transaction_bytes + request + bytes_around(entry, taken)
        return (
            request <= bounds.request_bytes
            and transaction <= bounds.transaction_bytes
            and self._record_bytes + record_bytes(entry, taken) <= bounds.record_bytes
        )

    def _measure(self) -> None:
        """Count the bytes of the steps exactly: few stages come near the size of a request."""
        for row, taken in self._unmeasured:
            entry = self._table.entry(row)
            self._request_bytes += line_bytes(entry)
            self._transaction_bytes += bytes_around(entry, taken)
            self._record_bytes += record_bytes(entry, taken)
        self._unmeasured.clear()
        self._bytes_at_most = max(self._request_bytes + self._transaction_bytes, self._record_bytes)

    def take(self, row: int) -> None:
        """Count the step as part of the stage."""
        into, carried = self._into[row], self._bytes[row]
        held, replicas = self.held, self.replicas
        if into:
            size, out = self._size[row], self._out[row]
            most = self._replicas_of_side_max
            for side in into:
                replicas[side] += 1
                held[side] += size
                if replicas[side] >= most:
                    self.blocked |= 1 << side
            replicas[out] += len(into)
            held[out] += carried
            if replicas[out] >= most:
                self.blocked |= 1 << out
            self.in_flight += len(into)
        else:
            self.in_flight += 1
        self.bytes += carried
        topic = self._topic[row]
        before = self._topics.get(topic, 0)
        self._topics[topic] = before + 1
        if before + 1 >= self._caps[topic]:
            self.full_topics.add(topic)
        self._unmeasured.append((row, before))
        self._bytes_at_most += self._request[row]
        self.taken.append(row)

    @property
    def uncounted(self) -> bool:
        """Whether steps joined since the last call of `take_joined`."""
        return len(self.taken) > self._counted[0]

    def take_joined(self) -> tuple[list[int], list[int], list[int]]:
        """Take the steps that joined since the last call; by side their bytes and replicas."""
        count, held, replicas = self._counted
        self._counted = len(self.taken), self.held.copy(), self.replicas.copy()
        bytes_of = list(map(sub, self.held, held))
        return self.taken[count:], bytes_of, list(map(sub, self.replicas, replicas))

    @property
    def within_limits(self) -> bool:
        """Whether counts and bytes are within the limits; a group that goes together may not be.

        A step that is above the limit of a side by itself is within it: no other touches that side.
        """
        widest = max([len(self._into[row]) for row in self.taken], default=0)
        within = (
            max(self.replicas, default=0) <= max(self._replicas_of_side_max, widest)
            and self.in_flight <= self._replicas_max
            and self.bytes <= self._bytes_max
            and all(count <= self._caps[topic] for topic, count in self._topics.items())
        )
        return within or len(self.taken) == 1

    @property
    def span_used_bytes(self) -> int:
        """Bytes that the busiest side carries."""
        return max(self.held, default=0)
