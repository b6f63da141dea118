"""A kubelet whose pods are processes of this machine, for tests and for `make cluster`.

    kubelet = Kubelet.start(plane, {"example.test/app:1": Path("images/app.sh")})
    ...                                   # apply a Deployment; the scheduler finds the node
    kubelet.logs("team-a", "app-7c9"); os.kill(kubelet.pid("team-a", "app-7c9"), signal.SIGSTOP)
    kubelet.stop()

handles        the kubelet as tests hold it; it runs as a process of its own
kubelet        that process's loop: this node's pods, listed and watched
pods           one pod: volumes, container, status, end
runners        its container: runs, probes, restarts
containers     one run: a process with its own mounts, host name, pids and user
inside         what happens between that process's start and the container's command
volumes        Secrets, ConfigMaps, tokens, emptyDir, hostPath as folders
nodes          the Node and its Lease
addresses      an IP for each pod
api            the API server
podspecs, environments, statuses, probes.counted: pure
trials         pods as the tests of this kubelet make them

An image is a path: the entry point, a program of this machine. The machine's file system is what
every image holds (see `inside.roots`); a program that needs more than that from its image cannot
be run. Needs root and Linux with overlayfs; `Kubelet.start` says what is amiss.

It runs what pods of the chart, planning Jobs and Spark's executors are like: one container, probes
by HTTP. A pod that asks for more waits, and its status says for what (see `podspecs.check`).

Pods share the machine's network. Each has an IP of its own at which it can be reached, but a
process that listens on 0.0.0.0 takes the port for all pods: listen on the pod's IP. There is no
`kubectl logs` and `exec`: nothing listens for them.
"""

from control_plane.kubelet.handles import Kubelet

__all__ = ["Kubelet"]
