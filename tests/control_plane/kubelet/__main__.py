"""The kubelet's process: `python -m control_plane.kubelet KUBECONFIG NAME DIRECTORY IMAGES READY`.

Mounts for volumes in memory are made in a mount namespace of its own, so none is left behind.
On SIGTERM it withdraws the Node and ends; its pods end with it, however it ends.
"""

import logging
import os
import signal
import sys
from pathlib import Path
from threading import Event, Thread

from control_plane.kubelet import nodes
from control_plane.kubelet.api import Api
from control_plane.kubelet.inside import syscalls
from control_plane.kubelet.kubelet import Loop
from poolkeeper import errors


def main(kubeconfig: str, name: str, directory: str, images: str, ready: str) -> None:
    """Serve as node `name` until told to end."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("urllib3").setLevel(logging.ERROR)
    told_to_end = Event()
    signal.signal(signal.SIGTERM, lambda *_: told_to_end.set())
    syscalls.unshare(syscalls.CLONE_NEWNS)
    syscalls.make_private()
    server = Api(Path(kubeconfig))
    loop = Loop(server, name, Path(directory), Path(images))
    # A bug in the loop is to end the process, not to leave it deaf.
    Thread(target=_serve, args=(loop, Path(ready), told_to_end), daemon=True).start()
    told_to_end.wait()
    loop.stop()
    try:
        nodes.withdraw(server, name)
    except errors.PoolkeeperError as failure:
        logging.warning("withdraw: %s", failure)
    os._exit(0)


def _serve(loop: Loop, ready: Path, ended: Event) -> None:
    try:
        loop.run(ready)
    finally:
        ended.set()


if __name__ == "__main__":
    main(*sys.argv[1:])
