"""The command that shows clusters in a browser, live and read-only.

In come the options that name clusters, out go pages until a signal ends it. Read `ui`, then
`ui_looks`: how a cluster is looked at, and which pages are shown of it. `rehearsal_look` rehearses
the plan that there is. `kubernetes_looks` tells what is declared on a Kubernetes.
"""
