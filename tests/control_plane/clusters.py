"""A shell inside a Kubernetes of one's own, beside a Kafka cluster in use: `make cluster`.

A control plane with one node that runs the operator's image as a process, nine real brokers with
the topics of `examples/manifests`, filled, and a folder with chart and manifests in which the
commands of the README's section "On Kubernetes" can be typed as they stand there. `KUBECONFIG` is
set; `kubectl`, `helm`, `poolkeeper` and `kubectl poolkeeper` are on the path; `exit` ends all of
it. With commands on the standard input it runs those, and gives the exit code of the last:

    echo 'kubectl get nodes' | make cluster

With `--simulated` the brokers are one process, which nobody can produce to.
"""

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from chart.releases import IMAGE
from control_plane import workplace
from control_plane.building import BuildError
from control_plane.kubelet import Kubelet
from control_plane.planes import ControlPlane
from control_plane.workplace import Workplace
from poolkeeper import errors
from poolkeeper.sandbox import Sandbox

BEGINNING = "Starting a Kubernetes, ZooKeeper and nine brokers; the first time that takes minutes."
WELCOME = """
A Kubernetes of your own, {server}, and nine Kafka brokers with nine topics, {bootstrap}.
This folder has the chart and the manifests. Begin as the README does ("On Kubernetes"):

  helm install poolkeeper charts/poolkeeper --namespace poolkeeper --create-namespace --wait
  kubectl create namespace demo
  kubectl apply -f examples/manifests
  kubectl poolkeeper status

and go on there: kubectl poolkeeper plan, approve, stop, rollback, history, why topic/t1.
Pods run as processes of this machine, and share its network; logs of the servers are in
{folder}. `exit` ends all of it, the brokers and their data included.
"""


def main() -> int:
    """Return the exit code of the shell, or 1 if there is no control plane to be had."""
    if sys.stdin.isatty():
        print(BEGINNING, flush=True)
    try:
        with ThreadPoolExecutor() as threads:
            simulated = "--simulated" in sys.argv[1:]
            starting = threads.submit(workplace.start_brokers, simulated=simulated)
            try:
                plane = ControlPlane.start()
            except BaseException:
                starting.result().close()
                raise
            with plane, starting.result() as brokers:
                place = Workplace.make(plane.folder.resolve())
                place.address(brokers)
                with Kubelet.start(plane, {IMAGE: place.entry_point}):
                    return _shell(plane, place, brokers)
    except (BuildError, errors.PoolkeeperError) as reason:
        print(reason, file=sys.stderr)
        return 1


def _shell(plane: ControlPlane, place: Workplace, brokers: Sandbox) -> int:
    interactive = sys.stdin.isatty()
    if interactive:
        where = {"server": plane.server, "bootstrap": brokers.bootstrap, "folder": plane.folder}
        print(WELCOME.format_map(where))
    shell = os.environ.get("SHELL", "/bin/bash") if interactive else "/bin/bash"
    # Ctrl-C is for what runs in the shell. A handler, unlike "ignore", is not inherited by it.
    signal.signal(signal.SIGINT, lambda *_: None)
    environment = plane.environment()
    tools = Path(sys.executable).parent
    folders = (str(place.programs), environment["PATH"], str(tools))
    environment["PATH"] = os.pathsep.join(folders)
    return subprocess.run([shell], env=environment, cwd=place.folder, check=False).returncode


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.exit(main())
