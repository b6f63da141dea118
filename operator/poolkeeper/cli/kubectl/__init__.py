"""`kubectl poolkeeper`: what a person does with clusters on Kubernetes, with the kubeconfig alone.

In comes the API server's view: resources, their statuses, the ConfigMaps that hold whole plans, and
the Lease of who writes statuses. Out go tables, and three kinds of writes: hashes in
`spec.approval.plans`, and the annotation by which a run is stopped, rolled back or let go on. Read
`main`, then `options`, `access`, `operators`, `reading` and `writing`; `readiness`, `tables`,
`approvals`, `gitops`, `diff` and `explain` are pure.
"""
