"""Small files in memory."""

import subprocess
import sys

import pytest

_COUNT = """
import io, os
import pyarrow as pa
from poolkeeper.fleet.storage import parquet
content = pa.table({"a": [1, 2], "b": ["x", "y"]})
sink = io.BytesIO()
parquet.dump(content, sink)
before = set(os.listdir("/proc/self/task"))
assert parquet.parse(sink.getvalue()) == content
print(*(set(os.listdir("/proc/self/task")) - before))
"""


@pytest.mark.slow  # pyarrow is imported
def test_they_are_read_without_threads_that_could_outlive_the_interpreter() -> None:
    words = [sys.executable, "-c", _COUNT]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout.split(), done.stderr) == (0, [], "")
