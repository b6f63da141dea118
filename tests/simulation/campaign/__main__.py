"""Play one seed and tell what happened, or many and give the histogram.

PYTHONPATH=tests .venv/bin/python -m simulation.campaign SEED
PYTHONPATH=tests .venv/bin/python -m simulation.campaign FIRST END
"""

import sys
import time

from simulation.campaign import chunks
from simulation.campaign.laws import broken_at_rest, broken_in_all
from simulation.campaign.play import play
from simulation.campaign.truths import brief


def tell(seed: int) -> None:
    """Print one seed's course."""
    played = play(seed, broken_at_rest)
    s = played.situation
    began_ms = s.cluster.server.log[0].time_ms
    asks = f"asks brokers: {s.asks_brokers}, that list their logs: {s.tells_logs}"
    print(f"seed {seed}: Kafka {s.cluster.simulation.spec.kafka}, {asks}")
    print(s.first, s.desired, sep="\n")
    for at_ms, kind in s.struck:
        print(f"{(at_ms - began_ms) / 1000:8.2f} s  {kind}")
    for transaction in s.cluster.server.log:
        if transaction.zxid > played.since_zxid and (transaction.changes or transaction.failed):
            at_s = (transaction.time_ms - began_ms) / 1000
            told = " | ".join(
                f"{o.kind.name} {o.path} {(o.data or b'')[:160].decode(errors='replace')}"
                for o in transaction.operations
            )
            print(
                f"{at_s:8.2f} s  {transaction.session & 255:3} {transaction.zxid:4}  {told}"[:700]
            )
    for end in played.ends:
        print("at rest:", end.state, *(brief(wait) for wait in end.waits))
    print(f"{played.loop.passes} passes, {played.loop.writes} writes")
    print("\n".join(broken_in_all(played)) or "lawful")


if __name__ == "__main__":
    numbers = [int(text) for text in sys.argv[1:]]
    if len(numbers) == 1:
        tell(numbers[0])
    else:
        began = time.monotonic()
        tally = chunks.play_all(range(*numbers))
        print(tally.text(), f"{time.monotonic() - began:.0f} s")
        sys.exit(bool(tally.failures))
