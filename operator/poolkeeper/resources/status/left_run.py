"""A run that was left in another Kafka cluster: `spec.zookeeper.connect` leads elsewhere now.

Nobody works on the former cluster any more. What the run had in flight goes on there, and its
throttles stay. The status of the KafkaCluster is all that still knows of it: it says which cluster
was observed last, at which address, and with which run. So that status tells, also after a restart
of the operator.

Whether the run is still there is unknown. So it is told for `TOLD_MS`, or until the address leads
there again, where the run is taken up.
"""

import shlex
from collections.abc import Mapping
from typing import Any

from poolkeeper.text import moment, moment_ms

LEFT_RUN = "leftRun"
CONNECT = "connect"
TOLD_MS = 7 * 24 * 3600 * 1000


def left_run(
    before: Mapping[str, Any], cluster_id: str | None, now_ms: int
) -> dict[str, Any] | None:
    """Return the run that was left in another cluster than the one observed now, if any.

    `before` is the status of before this observation.
    """
    if cluster_id is None:
        return before.get(LEFT_RUN)
    former, plan = before.get("clusterId"), before.get("plan") or {}
    if former not in (None, cluster_id) and "stage" in plan:
        found = {"clusterId": former, "plan": plan.get("hash", ""), "time": moment(now_ms)}
        return found | ({CONNECT: before[CONNECT]} if CONNECT in before else {})
    known: dict[str, Any] | None = before.get(LEFT_RUN)
    if known is None or known["clusterId"] == cluster_id:
        return None
    noted_ms = moment_ms(known["time"])
    if noted_ms is None or noted_ms > now_ms:  # somebody else wrote it: it would be told for ever
        return known | {"time": moment(now_ms)}
    return known if now_ms - noted_ms < TOLD_MS else None


def left_run_text(left: Mapping[str, Any]) -> str:
    """Say which run was left where, and what to do.

    "a run (plan sha256:aa) was left with its throttles in Kafka cluster x at zk-1:2181; …"
    """
    told = f"a run (plan {left['plan']}) was left with its throttles in Kafka cluster"
    told += f" {left['clusterId']}"
    if CONNECT not in left:
        return f"{told}: declare that cluster again, and it is taken up"
    address = shlex.quote(left[CONNECT])
    return (
        f"{told} at {left[CONNECT]}: `poolkeeper status --zookeeper {address}` tells of it; declare"
        f" that cluster again, and it is taken up, or `poolkeeper stop --zookeeper {address}` and"
        " `poolkeeper apply` end it"
    )


def staying_run_text(status: Mapping[str, Any], found_id: str | None) -> str:
    """Say that a run stays where it is, as the address leads to the cluster `found_id`; or "".

    `status` is what was said of the cluster that is meant.
    """
    plan = status.get("plan") or {}
    if found_id in (None, status.get("clusterId")) or "stage" not in plan:
        return ""
    where = f" at {status[CONNECT]}" if CONNECT in status else ""
    return (
        f"; the run under way (plan {plan.get('hash', '')}) stays meanwhile with its throttles in"
        f" cluster {status.get('clusterId', '')}{where}"
    )
