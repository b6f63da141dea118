"""The loss of brokers as text, and as JSON values."""

from collections.abc import Iterator, Sequence

from poolkeeper.algorithms.groups import ListedMember
from poolkeeper.cli.output.ink import Ink
from poolkeeper.studies.broker_loss import (
    BrokerLoss,
    LeaderLoad,
    LossAssumptions,
    LostPartition,
    PartitionFate,
)
from poolkeeper.studies.controller_times import ControllerTimes
from poolkeeper.studies.group_coordinators import (
    CoordinatorFate,
    GroupLoss,
    ListedGroup,
    lost_first,
)
from poolkeeper.text import count, cut, fine_duration, listed, more, named, size

ROWS_MAX = 20
"""The most rows of each list; JSON has all of them."""


def lines(loss: BrokerLoss, groups: Sequence[GroupLoss], ink: Ink) -> Iterator[str]:
    """The lines of the study."""
    yield from ink.fold(_head(loss))
    for part in (
        _partitions(loss, ink),
        _loads(loss.loads, ink),
        _groups(groups, ink),
        _times(loss, ink),
        _assumed(loss, ink),
    ):
        shown = list(part)
        if shown:
            yield ""
            yield from shown


def _head(loss: BrokerLoss) -> str:
    said = f"Without {named('broker', cut(map(str, loss.lost), ROWS_MAX))}"
    if loss.controller_lost:
        said += ", the controller among them" if len(loss.lost) > 1 else ", the controller"
    counts = [
        (len(loss.of_fate(PartitionFate.ELECTED)), "gets another leader", "get another leader"),
        (len(loss.of_fate(PartitionFate.UNCLEAN)), "loses records", "lose records"),
        (len(loss.of_fate(PartitionFate.OFFLINE)), "is offline", "are offline"),
        (
            len(loss.newly_below),
            "falls below min.insync.replicas",
            "fall below min.insync.replicas",
        ),
    ]
    told = [f"{number:,} {one if number == 1 else many}" for number, one, many in counts if number]
    have = "has" if len(loss.partitions) == 1 else "have"
    held = f"of {count(loss.total, 'partition')}, {len(loss.partitions):,} {have} a replica there"
    return f"{said}: {held}; {listed(told) if told else 'each keeps its leader'}."


def _partitions(loss: BrokerLoss, ink: Ink) -> Iterator[str]:
    offline = loss.of_fate(PartitionFate.OFFLINE)
    unclean = loss.of_fate(PartitionFate.UNCLEAN)
    for partitions, title, last in (
        (offline, "Offline: nobody reads or writes them until one that was in sync is back", True),
        (unclean, "Elected uncleanly: what the new leader lacks is lost", False),
        (loss.newly_below, "Below min.insync.replicas: producers with acks=all are refused", False),
    ):
        if partitions:
            yield ink.bold(title)
            rows = [_row(each, is_offline=last) for each in partitions[:ROWS_MAX]]
            heading = ("TOPIC", "PARTITION", "REPLICAS", "IN SYNC THEN", "MIN")
            then = "AN UNCLEAN ELECTION TAKES" if last else "LEADER"
            yield from ink.table([(*heading, then), *rows], names=1)
            if cut := more(len(partitions) - ROWS_MAX, "partition"):
                yield f"  … {cut}"
            if last:
                yield from ink.fold(f"  {_rescue(offline)}", 2)
    was_offline = sum(each.was_offline for each in loss.partitions)
    if was_offline:
        counted = "is" if was_offline == 1 else "are"
        yield f"{count(was_offline, 'partition')} had no leader before, and {counted} not counted."


def _row(each: LostPartition, *, is_offline: bool) -> tuple[str, ...]:
    ids = " ".join(map(str, each.replicas))
    in_sync = " or ".join(map(str, each.isr)) if is_offline else " ".join(map(str, each.isr))
    then = "nobody" if each.rescuer is None else f"broker {each.rescuer}"
    return (
        each.name.topic,
        str(each.name.partition),
        ids,
        f"waits for {in_sync}" if is_offline else in_sync,
        str(each.min_isr),
        then if is_offline else str(each.leader),
    )


def _rescue(offline: Sequence[LostPartition]) -> str:
    helped = [each for each in offline if each.rescuer is not None]
    if not helped:
        return "No election helps: no other replica of them is live."
    known = [each.size_bytes for each in helped if each.size_bytes is not None]
    most = f", at most {size(sum(known))}" if len(known) == len(helped) and known else ""
    return (
        f"Only an unclean election would bring {len(helped):,} of {len(offline):,} back now"
        " (unclean.leader.election.enable). It loses all that was written while the replica that"
        f" it takes was out of sync{most}, even if the others return."
    )


def _loads(loads: Sequence[LeaderLoad], ink: Ink) -> Iterator[str]:
    if not loads:
        return
    rates = any(load.in_bytes_per_s_before or load.in_bytes_per_s for load in loads)
    heading = ["BROKER", "RACK", "LEADERS", "THEN"]
    rows: list[tuple[str, ...]] = [tuple(heading + (["WRITTEN/s", "THEN"] if rates else []))]
    rest = more(len(loads) - ROWS_MAX, "broker")
    for load in sorted(loads, key=_gain)[:ROWS_MAX] if rest else loads:
        cells = [
            str(load.broker),
            load.rack or "-",
            f"{load.leaders_before:,}",
            f"{load.leaders:,}",
        ]
        if rates:
            cells += [
                _rate(load.in_bytes_per_s_before, load.unknown_before),
                _rate(load.in_bytes_per_s, load.unknown),
            ]
        rows.append(tuple(cells))
    yield ink.bold("What brokers lead, those first that get most" if rest else "What brokers lead")
    yield from ink.table(rows)
    if rest:
        yield f"  … {rest}"


def _gain(load: LeaderLoad) -> tuple[float, int, int]:
    """What sorts brokers by what they get: bytes first, where rates are known."""
    rate = load.in_bytes_per_s_before - load.in_bytes_per_s
    return rate, load.leaders_before - load.leaders, load.broker


def _rate(rate: float, unknown: int) -> str:
    return f"{'≥ ' if unknown else ''}{size(rate)}"


def _groups(groups: Sequence[GroupLoss], ink: Ink) -> Iterator[str]:
    if not groups:
        return
    affected = [each for each in lost_first(groups) if _is_affected(each)]
    yield ink.bold("Consumer groups")
    if not affected:
        yield f"  {count(len(groups), 'group')}: each keeps its coordinator"
        yield from _group_leaders(groups, ink)
        return
    rows = [("GROUP", "MEMBERS", "COORDINATOR", "THEN", "COMMITS AND REBALANCES WAIT")]
    for each in affected[:ROWS_MAX]:
        members = "-" if each.listed.members is None else f"{len(each.listed.members):,}"
        then = _broker(each.coordinator)
        if each.fate is CoordinatorFate.OFFSETS_LOST:
            then += " (offsets lost)"
        rows.append((each.group, members, _broker(each.coordinator_before), then, _wait(each)))
    yield from ink.table(rows, names=1)
    if cut := more(len(affected) - ROWS_MAX, "group"):
        yield f"  … {cut}"
    kept = len(groups) - len(affected)
    if kept:
        yield f"  {count(kept, 'other group')}: each keeps its coordinator"
    yield from _group_leaders(groups, ink)


def _is_affected(group: GroupLoss) -> bool:
    return group.fate is not CoordinatorFate.KEPT or group.refuses_commits


def _wait(group: GroupLoss) -> str:
    if group.refuses_commits:
        return "until min.insync.replicas are in sync"
    return "until it is back" if group.pause_s is None else _about(group.pause_s)


def _group_leaders(groups: Sequence[GroupLoss], ink: Ink) -> Iterator[str]:
    """Which member computes who reads what, where it is known."""
    led = [each for each in lost_first(groups) if each.listed.leader is not None]
    if not led:
        return
    rows = [("GROUP", "LED BY MEMBER", "ON", "IF IT LEAVES", "ON")]
    for each in led[:ROWS_MAX]:
        now, then = each.listed.leader, each.listed.next_leader
        rows.append((each.group, *_member(each.listed, now), *_member(each.listed, then)))
    yield ""
    yield ink.bold("Who assigns the partitions of consumer groups")
    yield from ink.table(rows, names=len(rows[0]))
    if cut := more(len(led) - ROWS_MAX, "group"):
        yield f"  … {cut}"


def _member(group: ListedGroup, member: ListedMember | None) -> tuple[str, str]:
    """A member's short name, and its host: the client id, where that is one member's alone."""
    if member is None:
        return "nobody", "-"
    alike = [each for each in group.members or () if each.client == member.client]
    return member.client if len(alike) == 1 else member.id, member.host


def _broker(id_: int) -> str:
    return "none" if id_ < 0 else str(id_)


def _about(seconds: float) -> str:
    return f"about {fine_duration(seconds)}"


def _times(loss: BrokerLoss, ink: Ink) -> Iterator[str]:
    yield ink.bold("How long it takes (by partitions, from published measurements)")
    heading = ("CONTROLLER", "A LEADER IS MISSING", "NEW CONTROLLER BEGINS", "ORDERLY STOP INSTEAD")
    yield from ink.table([heading, *(_time_row(times, loss) for times in loss.times)], names=1)


def _time_row(times: ControllerTimes, loss: BrokerLoss) -> tuple[str, ...]:
    begins = "-" if loss.controller_lost is False or not loss.loads else _about(times.begin_s)
    return (times.era.value, _missing(times, loss), begins, _about(times.stop_s))


def _missing(times: ControllerTimes, loss: BrokerLoss) -> str:
    if times.pause_s is None:
        return "until one in sync is back" if loss.loads else "until a broker is back"
    return _about(times.pause_s) if times.pause_s else "-"


def _assumed(loss: BrokerLoss, ink: Ink) -> Iterator[str]:
    for sentence in assumptions(loss):
        yield from ink.fold(f"Assumed: {sentence}.", 9)


def assumptions(loss: BrokerLoss) -> Iterator[str]:
    """Say what was not known, and what is taken for it."""
    unknown = loss.assumptions
    if unknown.partitions_of_unknown_state:
        of = count(unknown.partitions_of_unknown_state, "partition")
        yield f"all live replicas are in sync, for {of} of unknown state"
    if unknown.topics_of_unknown_config:
        of = count(unknown.topics_of_unknown_config, "topic")
        yield f"no config of its own, for {of} of unknown config"
    if unknown.topics_of_default_min_isr:
        of = count(unknown.topics_of_default_min_isr, "topic")
        yield f"min.insync.replicas is 1, Kafka's default, for {of}: the brokers were not asked"
    if unknown.topics_of_default_unclean:
        of = count(unknown.topics_of_default_unclean, "topic")
        key = "unclean.leader.election.enable"
        yield f"{key} has Kafka's default, for {of}: the brokers were not asked"
    if loss.controller_lost is None:
        yield (
            "another broker is controller, as who it is was not observed: if it is lost, add the"
            " time in which a new one begins"
        )


def as_data(loss: BrokerLoss, groups: Sequence[GroupLoss]) -> dict[str, object]:
    """Return the study as JSON values."""
    return {
        "lost": list(loss.lost),
        "controllerLost": loss.controller_lost,
        "partitions": loss.total,
        "affected": [_partition_data(each) for each in loss.partitions],
        "brokers": [_load_data(load) for load in loss.loads],
        "groups": [_group_data(each) for each in groups],
        "estimates": [
            {
                "controller": times.era.value,
                "requests": times.era.name.lower(),
                "controllerStartSeconds": round(times.begin_s, 3),
                "controlledShutdownSeconds": round(times.stop_s, 3),
                "leaderMissingSeconds": None if times.pause_s is None else round(times.pause_s, 3),
            }
            for times in loss.times
        ],
        "assumed": list(assumptions(loss)),
        "assumptions": _assumptions_data(loss.assumptions),
    }


def _assumptions_data(assumptions: LossAssumptions) -> dict[str, object]:
    return {
        "partitionsOfUnknownState": assumptions.partitions_of_unknown_state,
        "topicsOfUnknownConfig": assumptions.topics_of_unknown_config,
        "topicsOfDefaultMinIsr": assumptions.topics_of_default_min_isr,
        "topicsOfDefaultUncleanElection": assumptions.topics_of_default_unclean,
    }


def _partition_data(each: LostPartition) -> dict[str, object]:
    return {
        "topic": each.name.topic,
        "partition": each.name.partition,
        "replicas": list(each.replicas),
        "fate": each.fate.name.lower(),
        "leaderBefore": each.leader_before,
        "leader": each.leader,
        "isr": list(each.isr),
        "minIsr": each.min_isr,
        "belowMinIsr": each.below_min_isr,
        "wasOffline": each.was_offline,
        "wasBelowMinIsr": each.was_below,
        "uncleanLeader": each.rescuer,
    }


def _load_data(load: LeaderLoad) -> dict[str, object]:
    return {
        "broker": load.broker,
        "rack": load.rack,
        "leadersBefore": load.leaders_before,
        "leaders": load.leaders,
        "bytesInPerSecondBefore": round(load.in_bytes_per_s_before, 3),
        "bytesInPerSecond": round(load.in_bytes_per_s, 3),
        "partitionsOfUnknownRate": load.unknown,
    }


def _group_data(each: GroupLoss) -> dict[str, object]:
    return {
        "group": each.group,
        "offsetsPartition": each.partition,
        "members": None if each.listed.members is None else len(each.listed.members),
        "fate": each.fate.name.lower(),
        "coordinatorBefore": each.coordinator_before,
        "coordinator": each.coordinator,
        "refusesCommits": each.refuses_commits,
        "waitSeconds": None if each.pause_s is None else round(each.pause_s, 3),
        "leader": _member_data(each.listed.leader),
        "nextLeader": _member_data(each.listed.next_leader),
    }


def _member_data(member: ListedMember | None) -> dict[str, object] | None:
    if member is None:
        return None
    return {
        "member": member.id,
        "client": member.client,
        "host": member.host,
        "instance": member.instance,
    }
