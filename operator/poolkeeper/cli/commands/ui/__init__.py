"""The command that shows clusters in a browser, live and read-only.

In come the options that name clusters, out go pages until a signal ends it. Read `ui`, then
`live_pages` (how a cluster is read, and which pages are shown of it), `rehearsal_page` (rehearses
the plan that there is), `kubernetes_clusters` (what is declared on a Kubernetes) and
`operator_leases` (whether an operator leads there).
"""
