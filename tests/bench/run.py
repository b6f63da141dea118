"""`make bench`: every bench_*.py here, one after another; names as arguments choose some.

Each prints a table with the command that repeats it alone, and exits with a failure if what it
compares within its run (ratios, growth) is not as it should be; no wall time is asserted.

First comes how fast the machine is: processor seconds of a loop in Python. Those of two machines,
or of one machine at two times, tell by how much the figures of one are to be divided before they
are compared with the other's.
"""

import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
ADDITIONS = 20_000_000


def main(names: list[str]) -> int:
    """Run the benches; return 1 if one failed."""
    print(f"{ADDITIONS:,} additions in a loop: {_loop_s():.2f} s", flush=True)
    failed = []
    for file in sorted(HERE.glob("bench_*.py")):
        name = file.stem.removeprefix("bench_")
        if names and name not in names:
            continue
        print(f"\n== {name}    (python tests/bench/{file.name})", flush=True)
        if subprocess.run([sys.executable, str(file)], check=False).returncode:
            failed.append(name)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def _loop_s() -> float:
    """The processor seconds of the loop, the least of three."""
    taken = []
    for _ in range(3):
        began = time.process_time()
        total = 0
        for number in range(ADDITIONS):
            total += number
        taken.append(time.process_time() - began)
    return min(taken)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
