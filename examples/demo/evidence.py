"""What ZooKeeper's own transaction log says about one `apply`: its requests and its throttles."""

import json
from dataclasses import dataclass
from pathlib import Path

import txnlog
from layouts import Check, throttle_keys

REQUEST = "/admin/reassign_partitions"
RATE = "follower.replication.throttled.rate"


@dataclass(frozen=True, slots=True)
class Evidence:
    """Partitions of each reassignment request; who was throttled meanwhile, and at which rates."""

    requests: tuple[int, ...]
    brokers: frozenset[str]
    topics: frozenset[str]
    rates_bytes_per_s: frozenset[int]

    def __str__(self) -> str:
        sizes = " + ".join(map(str, self.requests)) or "no"
        rates = ", ".join(f"{rate / 1024**2:.3g} MiB/s" for rate in sorted(self.rates_bytes_per_s))
        topics = f"{len(self.topics)} topic{'s' * (len(self.topics) != 1)}"
        return (
            f"{len(self.requests)} reassignment request{'s' * (len(self.requests) != 1)} "
            f"({sizes} partitions), throttled meanwhile: "
            f"{len(self.brokers)} brokers at {rates or 'no rate'}, {topics}"
        )

    def check(self) -> Check:
        """Every request was accompanied by throttles on brokers and topics."""
        throttled = self.requests and self.brokers and self.topics and self.rates_bytes_per_s
        return Check("replicas moved, and were throttled", () if throttled else (str(self),))


def position(folder: Path) -> int:
    """Return the last transaction's number."""
    return max((transaction.zxid for transaction in txnlog.read_folder(folder)), default=0)


def read(folder: Path, chroot: str, after: int) -> Evidence:
    """Return what happened since `position` was `after`."""
    requests = []
    throttled: dict[str, set[str]] = {"brokers": set(), "topics": set()}
    rates = set()
    for transaction in txnlog.read_folder(folder, after):
        for change in transaction.changes:
            path = change.path.removeprefix(chroot)
            _, _, kind, name = (*path.split("/"), "", "", "", "")[:4]
            if path == REQUEST and change.kind.creates and change.data:
                # The controller rewrites the node as partitions arrive; a creation is a request.
                requests.append(len(json.loads(change.data)["partitions"]))
            elif path.startswith("/config/") and kind in throttled and name and change.data:
                config = json.loads(change.data)["config"]
                if throttle_keys(config):
                    throttled[kind].add(name)
                if RATE in config:
                    rates.add(int(config[RATE]))
    brokers, topics = (frozenset(throttled[kind]) for kind in ("brokers", "topics"))
    return Evidence(tuple(requests), brokers, topics, frozenset(rates))
