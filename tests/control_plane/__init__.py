"""A real Kubernetes control plane on this machine, for tests and for `make cluster`.

building     the programs: compiled or brought once, kept in the cache
planes       a control plane that runs
servers      its processes
access       kubeconfigs, and requests of the tests themselves
audits       what service accounts asked of the API server
kubelet      the node: runs pods as processes
workplace    a folder with chart and manifests, and brokers with data
clusters     all of it together, with a shell
"""
