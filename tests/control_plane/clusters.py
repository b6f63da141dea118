"""A shell inside a Kubernetes of one's own: `make cluster`.

A control plane with our CRDs and one node that runs the operator's image as a process, `KUBECONFIG`
set, and `kubectl`, `helm` and `poolkeeper` on the path; `exit` ends all of it. With commands on the
standard input it runs those and gives their exit code:

    echo 'kubectl get nodes' | make cluster
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

from chart.releases import IMAGE, OPERATOR
from control_plane import building
from control_plane.building import BuildError
from control_plane.kubelet import Kubelet
from control_plane.planes import ControlPlane
from poolkeeper import errors

CRDS = building.CHECKOUT / "crds"

WELCOME = """
A Kubernetes of your own: {server}
  kubectl get nodes
  kubectl get kafkaclusters,resourcepools,topics,rebalances -A
  poolkeeper sandbox up --brokers 9
  helm install poolkeeper charts/poolkeeper -n poolkeeper --create-namespace --wait \\
    --set crds.install=false --set operator.address='$(POD_IP)'
Pods run as processes of this machine, and share its network; logs of the servers are in {folder}.
`exit` ends all of it.
"""


def main() -> int:
    """Return the exit code of the shell, or 1 if there is no control plane to be had."""
    try:
        with ControlPlane.start() as plane:
            plane.apply_crds(CRDS)
            with Kubelet.start(plane, {IMAGE: OPERATOR}):
                return _shell(plane)
    except (BuildError, errors.Unavailable) as reason:
        print(reason, file=sys.stderr)
        return 1


def _shell(plane: ControlPlane) -> int:
    interactive = sys.stdin.isatty()
    if interactive:
        print(WELCOME.format(server=plane.server, folder=_short(plane.folder)))
    shell = os.environ.get("SHELL", "/bin/bash") if interactive else "/bin/bash"
    # Ctrl-C is for what runs in the shell. A handler, unlike "ignore", is not inherited by it.
    signal.signal(signal.SIGINT, lambda *_: None)
    environment = plane.environment()
    folders = (str(OPERATOR.parent), str(building.helm().parent), environment["PATH"])
    environment["PATH"] = os.pathsep.join(folders)
    return subprocess.run([shell], env=environment, check=False).returncode


def _short(folder: Path) -> Path:
    here = Path.cwd()
    return folder.relative_to(here) if folder.is_relative_to(here) else folder


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.exit(main())
