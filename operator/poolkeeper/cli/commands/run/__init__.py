"""The command that stays and keeps clusters as declared: the operator.

In come manifests, as a folder or from Kubernetes; nothing comes out but what is done, until a
signal ends it. Read `run`, then `run_folder`, which is what `run -f DIR` does; `check_release` is
run by the pod of `helm test`, not by people.
"""
