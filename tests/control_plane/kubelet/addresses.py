"""An IP address for each pod: 127.1.BLOCK.1 to 127.1.BLOCK.254.

All of 127.0.0.0/8 is this machine, so a pod's IP works without any set-up. Kubelets of other test
processes run on the same machine: each claims a block of its own by binding an abstract Unix
socket with the block's name, which the kernel gives up when the process ends, however it ends.

It is the address alone that is the pod's: a process that listens on 0.0.0.0 listens on every
pod's address, and a second one cannot. Two replicas that use the same port must listen on their
pod's IP.
"""

import socket
from collections import deque
from threading import Lock

from poolkeeper import errors


class Addresses:
    """The addresses of one kubelet; those given back are given out again last."""

    def __init__(self) -> None:
        block, self._claim = _claim_block()
        self._free = deque(f"127.1.{block}.{host}" for host in range(1, 255))
        self._lock = Lock()

    def take(self) -> str:
        """Return an address that no running pod has. Raises Unavailable if all are taken."""
        with self._lock:
            if not self._free:
                raise errors.Unavailable("all 254 pod addresses of this kubelet are taken")
            return self._free.popleft()

    def give_back(self, address: str) -> None:
        """Let another pod have this address."""
        with self._lock:
            self._free.append(address)

    def close(self) -> None:
        """Let another kubelet have the block."""
        self._claim.close()


def _claim_block() -> tuple[int, socket.socket]:
    for block in range(256):
        claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            claim.bind(f"\0process-kubelet-127.1.{block}")
        except OSError:
            claim.close()
        else:
            return block, claim
    raise errors.Unavailable("256 kubelets run on this machine already")
