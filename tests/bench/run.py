"""`make bench`: every bench_*.py here, one after another; names as arguments choose some.

Each prints a table with the command that repeats it alone, and exits with a failure if what it
compares within its run (ratios, growth) is not as it should be; no wall time is asserted.
"""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def main(names: list[str]) -> int:
    """Run the benches; return 1 if one failed."""
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


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
