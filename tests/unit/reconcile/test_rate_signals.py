"""What the adaptive throttle measures: ISRs of the whole cluster, logs of the brokers asked."""

from dataclasses import replace
from types import SimpleNamespace

import builders
from builders import partition, topic
from poolkeeper.brokers.sizes import BrokerLogs, ReplicaLog, Sizes
from poolkeeper.model.execution.runs import Saved
from poolkeeper.model.readings import ClusterReading
from poolkeeper.model.topology import Controller, TopicPartition
from poolkeeper.planning.run_state.throttling.adaptive_rate import LAG_BYTES_MIN, RateSignals
from poolkeeper.reconcile import rate_signals
from poolkeeper.reconcile.context import PassContext
from unit.reconcile.situations import NOW_MS, T0, T1, cluster, flying

OTHER = TopicPartition("other", 0)
TOOK_MS = 7


class Cluster:
    """Partition `other-0` of brokers 1 and 2, beside `t`, which moves to 3; and a clock."""

    def __init__(self, isr=(1, 2)):
        self.now = NOW_MS
        self.lag = 0
        self.asked = []
        others = topic("other", partition(0, 1, 2, isr=isr, in_bytes_per_s=1.0))
        moving = cluster(((3, 1, 2), (3, 2, 1)), leaders={0: 1, 1: 2}, isr={0: (1, 2), 1: (2, 1)})
        whole = builders.cluster(
            (1, 2, 3), moving.topics["t"], others, controller=Controller(1, 5, 5)
        )
        self.reading = ClusterReading(whole)

    def observe(self, name, *, want_configs):
        assert not want_configs
        self.now += TOOK_MS
        return self.reading

    def sizes(self, brokers):
        self.asked = sorted(brokers)
        self.lag += LAG_BYTES_MIN
        held = {
            1: {OTHER: 10**12, T0: 500},
            2: {OTHER: 10**12 - self.lag, T1: 500},
            3: {T0: self.lag, T1: self.lag},
        }
        return Sizes({broker: logs(held[broker]) for broker in brokers})


def logs(sizes):
    return BrokerLogs({}, {name: ReplicaLog(size, "/d") for name, size in sizes.items()})


def measured(seen, brokers=True):
    access = SimpleNamespace(observe=seen.observe)
    context = PassContext(access, lambda: seen.now, seen if brokers else None)
    at = flying(seen.reading.cluster, 0, rates=(100,))
    at = replace(at, document=replace(at.document, saved=Saved({"t": {}}, {1: {}, 2: {}, 3: {}})))

    def measure():
        signals = rate_signals.measure(context, at)
        assert context.memory.adapted_ms == seen.now + 10 * TOOK_MS
        seen.now += 1000 - TOOK_MS
        return signals

    return measure


def test_replicas_outside_the_request_are_looked_at():
    measure = measured(Cluster(isr=(1,)), brokers=False)
    assert measure() == RateSignals(out_of_sync=frozenset({OTHER}))


def test_sizes_tell_who_falls_behind_and_how_much_is_copied():
    seen = Cluster()
    measure = measured(seen)
    assert measure() == RateSignals()
    per_second = 2.0 * LAG_BYTES_MIN
    assert measure() == RateSignals(copied_bytes_per_s=per_second)
    assert measure() == RateSignals(behind=frozenset({OTHER}), copied_bytes_per_s=per_second)
    assert seen.asked == [1, 2, 3]
