"""Has kafka-python compile how a message is read in one thread at a time.

It does so when it first meets a message, and replaces the class of the message's type meanwhile.
Each client has a thread. If those of two clusters meet the same message at once, one may find the
class that the other has put back. What it compiles then is kept, and fails for every such message,
of all clusters, until the process ends (kafka-python 3.0.12, `StructField.compiled_decode_from`).
"""

from functools import wraps
from threading import RLock
from typing import Any

from kafka.protocol.schemas.fields.struct import StructField

_compiling = RLock()


def compile_in_one_thread() -> None:
    """Let one thread at a time ask for what is compiled, and compile it; call this once."""
    compiled = StructField.compiled_decode_from

    @wraps(compiled)
    def one_at_a_time(*given: Any, **named: Any) -> Any:
        with _compiling:
            return compiled(*given, **named)

    StructField.compiled_decode_from = one_at_a_time
