"""Load history in the background: what a pass sees of it, and when it is asked for."""

from threading import Event

from conditions import until
from poolkeeper.errors import Unavailable
from poolkeeper.load.apply import MeasuredLoads
from poolkeeper.load.refresh import REFRESH_S, LoadHistory
from poolkeeper.model.specs import LoadSource
from poolkeeper.model.topology import Cluster, Partition, Topic

HERE = LoadSource("Prometheus", {"url": "http://here"})
THERE = LoadSource("Prometheus", {"url": "http://there"})
T = Topic("t", (Partition(0, (1,)),))
CLUSTER = Cluster("c", {}, {"t": T})


class Server:
    """Answers with the next of its answers, once it is let."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = []
        self.let = Event()

    def __call__(self, load, now_ms):
        self.asked.append(load)
        assert self.let.wait(60)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


class Passes:
    """A loop that looks again and again, with a clock of its own."""

    def __init__(self, *answers):
        self.declared = HERE
        self.server = Server(*answers)
        self.now_s = 1000.0
        self.history = LoadHistory(lambda: self.declared, self.server, lambda: self.now_s)

    def rate(self):
        (partition,) = self.history(CLUSTER).topics["t"].partitions
        return partition.in_bytes_per_s

    def until_rate(self, rate):
        until(lambda: self.rate() == rate, f"the rate is {rate}", 20)


def rates(value):
    return MeasuredLoads({}, {("t", 0): value})


def test_a_pass_does_not_wait_and_the_next_one_has_the_figures():
    passes = Passes(rates(5.0))
    assert [passes.rate(), passes.rate()] == [None, None]
    passes.server.let.set()
    passes.until_rate(5.0)
    assert passes.server.asked == [HERE]


def test_it_is_asked_again_after_a_while_and_what_was_known_stands_while_nobody_answers(caplog):
    passes = Passes(rates(5.0), Unavailable("away"), Unavailable("away"), rates(6.0))
    passes.server.let.set()
    passes.until_rate(5.0)
    for count in (2, 3):
        passes.now_s += REFRESH_S
        until(lambda count=count: passes.rate() and len(passes.server.asked) == count, "asked", 20)
        until(lambda: passes.rate() and not passes.history._fetch_thread, "answered", 20)
        assert passes.rate() == 5.0
    assert [record.message for record in caplog.records] == [
        "no load history: away; the last figures stand"
    ]
    passes.now_s += REFRESH_S
    passes.until_rate(6.0)


def test_another_source_is_asked_at_once_and_an_answer_of_the_old_one_is_dropped():
    passes = Passes(rates(5.0), rates(7.0))
    assert passes.rate() is None
    passes.declared = THERE
    assert passes.rate() is None
    passes.server.let.set()
    passes.until_rate(7.0)
    assert passes.server.asked == [HERE, THERE]
    passes.declared = LoadSource()
    assert passes.rate() is None


def test_without_a_source_nobody_is_asked():
    passes = Passes()
    passes.declared = LoadSource("LogDirs")
    assert passes.history(CLUSTER) is CLUSTER
    assert passes.server.asked == []
