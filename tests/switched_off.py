"""A port that keeps silent like a machine that is off: not even a connection is refused."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager


@contextmanager
def switched_off() -> Iterator[int]:
    """Yield a port of 127.0.0.1 that answers nothing to who connects."""
    with ExitStack() as kept:
        listening = kept.enter_context(socket.socket())
        listening.bind(("127.0.0.1", 0))
        listening.listen(0)
        for _ in range(4):  # who waits to be accepted fills the queue
            waiting = kept.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(listening.getsockname())
        yield int(listening.getsockname()[1])
