"""The kubelet's process: `python -m control_plane.kubelet KUBECONFIG NAME DIRECTORY IMAGES READY`.

On SIGTERM it withdraws the Node and ends; its pods end with it, however it ends. On SIGUSR1 it
writes to its log where each of its threads is.
"""

import faulthandler
import logging
import os
import signal
import sys
from pathlib import Path
from threading import Thread

from control_plane.kubelet import nodes
from control_plane.kubelet.api import Api
from control_plane.kubelet.kubelet import Loop
from poolkeeper import errors


def main(kubeconfig: str, name: str, directory: str, images: str, ready: str) -> None:
    """Serve as node `name` until told to end."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("urllib3").setLevel(logging.ERROR)
    faulthandler.register(signal.SIGUSR1)
    # Not a blocked signal and sigwait: all pods would inherit that. Not a handler that sets an
    # Event: it runs only between two steps of Python, which a wait just begun would put off.
    told_to_end, end = os.pipe()
    os.set_blocking(end, False)
    signal.set_wakeup_fd(end)
    signal.signal(signal.SIGTERM, lambda *_: None)
    server = Api(Path(kubeconfig))
    loop = Loop(server, name, Path(directory), Path(images))
    # A bug in the loop is to end the process, not to leave it deaf.
    Thread(target=_serve, args=(loop, Path(ready), end), daemon=True).start()
    os.read(told_to_end, 1)
    loop.stop()
    try:
        nodes.withdraw(server, name)
    except errors.PoolkeeperError as failure:
        logging.warning("withdraw: %s", failure)
    os._exit(0)


def _serve(loop: Loop, ready: Path, end: int) -> None:
    try:
        loop.run(ready)
    finally:
        os.write(end, b"x")


if __name__ == "__main__":
    main(*sys.argv[1:])
