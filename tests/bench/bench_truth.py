"""How wrong a rehearsal is: the same plan rehearsed and carried out on six real, throttled brokers.

One row per Kafka release: the moves and MiB of the plan, its stages, seconds of the real run and of
the rehearsed one, and the errors, in percent: of the whole length, of the worst end of a stage, and
of the bytes that a broker had copied in, at the worst of ten moments. The run is bound by its
throttle of 2 MiB/s and takes more than a minute. Asserted is that no error is above 20 %.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "examples" / "demo")]

from poolkeeper.sandbox import Sandbox, SandboxSpec, spread  # noqa: E402 (what comes next needs the path)
from truth import BROKER_SETTINGS, compare  # noqa: E402

RELEASES = ("3.9.2", "2.8.2")
ROW = "{:>8}{:>8}{:>8}{:>8}{:>10}{:>12}{:>10}{:>10}{:>10}"
ERROR_MAX = 20.0


def main(releases: tuple[str, ...]) -> None:
    """Print one row per release."""
    print(
        ROW.format(
            "Kafka", "moves", "MiB", "stages", "real s", "rehearsed s", "length", "stage", "bytes"
        )
    )
    for release in releases:
        spec = SandboxSpec(spread(6, racks=""), kafka=release, settings=BROKER_SETTINGS)
        with Sandbox.start(spec) as sandbox:
            found = compare(sandbox, "orders", partitions=20, mib=32, rate_mib=2, at_a_time=2)
        rehearsed, real = found.rehearsed, found.real
        mib = sum(move.bytes for move in rehearsed.plan.moves) // 1024**2
        errors = [
            100 * each
            for each in (found.makespan_error, max(found.stage_errors), max(found.bytes_errors))
        ]
        print(
            ROW.format(
                release,
                len(rehearsed.plan.moves),
                mib,
                len(rehearsed.stages),
                f"{real.seconds:.1f}",
                f"{rehearsed.seconds:.1f}",
                *(f"{each:.1f} %" for each in errors),
            ),
            flush=True,
        )
        if max(errors) > ERROR_MAX:
            raise SystemExit(f"{release}: the rehearsal is wrong by more than {ERROR_MAX:g} %")


if __name__ == "__main__":
    main(tuple(sys.argv[1:]) or RELEASES)
