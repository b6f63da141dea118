"""How long a controller takes to begin, and a broker to stop, by the number of partitions.

Both are requests to ZooKeeper, a few for each partition. Controllers up to 1.0 send one request,
wait for its answer, and send the next. From 1.1 on they send many and then collect the answers.
The work is in proportion to the partitions, so a published measurement gives the rate:

    work                              partitions    to 1.0      from 1.1
    a controller begins               100,000       28 s        14 s        2,000 topics of 50
    a broker stops in an orderly way  10,000        390 s       3 s         on it; 5,000 led by it

    seconds = partitions × seconds measured / partitions measured

That is 0.28 or 0.14 ms for each partition of the cluster at the begin, and 39 or 0.3 ms for each
partition of a broker that stops. (Of the 390 s all but 30 came from a logging fault of those
releases.) The measurements had an ensemble of five servers in one data centre, so this is the order
of magnitude elsewhere: it grows with the round trip to ZooKeeper, up to 1.0 in proportion.

Elections after a loss write a state for each partition, as an orderly stop does, and are taken to
last as long.
"""

from collections.abc import Mapping
from enum import StrEnum

from poolkeeper.frozen import frozen
from poolkeeper.model.versions import KafkaVersion, Version

_PIPELINED_SINCE = KafkaVersion.parse("1.1")


class ControllerEra(StrEnum):
    """How a controller talks to ZooKeeper."""

    ONE_BY_ONE = "request by request (to Kafka 1.0)"
    PIPELINED = "pipelined (from Kafka 1.1)"


@frozen
class MeasuredWork:
    """The seconds that a number of partitions took."""

    partitions: int
    seconds: Mapping[ControllerEra, float]

    def seconds_for(self, partitions: int, era: ControllerEra) -> float:
        """The seconds that as many partitions take."""
        return partitions * self.seconds[era] / self.partitions


BEGIN = MeasuredWork(100_000, {ControllerEra.ONE_BY_ONE: 28.0, ControllerEra.PIPELINED: 14.0})
STOP = MeasuredWork(10_000, {ControllerEra.ONE_BY_ONE: 390.0, ControllerEra.PIPELINED: 3.0})


@frozen
class ControllerTimes:
    """Estimated seconds in one era.

    `begin_s`: a new controller reads the whole cluster. `stop_s`: the lost brokers, one after the
    other, if they were stopped in an orderly way instead. `pause_s`: how long the partitions that
    they led have no leader when they are lost: until they are missed, and another one is elected.
    A study of a loss makes it 0 if they led none, and None if nobody can be elected: there is no
    leader until a replica is back.
    """

    era: ControllerEra
    begin_s: float
    stop_s: float
    pause_s: float | None


def eras_of(version: Version | None) -> tuple[ControllerEra, ...]:
    """The eras that controllers of these releases belong to; both if nothing is known."""
    found = []
    if version is None or version.low.release < _PIPELINED_SINCE:
        found.append(ControllerEra.ONE_BY_ONE)
    if version is None or version.high.release >= _PIPELINED_SINCE:
        found.append(ControllerEra.PIPELINED)
    return tuple(found)


def controller_times(
    version: Version | None,
    partitions: int,
    hosted: int,
    session_timeout_s: float,
    *,
    controller_lost: bool,
) -> tuple[ControllerTimes, ...]:
    """Estimate each era; `hosted`: the partitions of the lost brokers, all of these added up."""
    found = []
    for era in eras_of(version):
        begin_s, stop_s = BEGIN.seconds_for(partitions, era), STOP.seconds_for(hosted, era)
        pause_s = session_timeout_s + stop_s + (begin_s if controller_lost else 0.0)
        found.append(ControllerTimes(era, begin_s, stop_s, pause_s))
    return tuple(found)
