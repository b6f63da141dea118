"""The names of Poolkeeper's resources in Kubernetes; files use the same names."""

GROUP = "poolkeeper.dev"
VERSION = "v1alpha1"
API_VERSION = f"{GROUP}/{VERSION}"
FINALIZER = f"{GROUP}/finalizer"
COMMIT = f"{GROUP}/commit"
"""The annotation by which a GitOps controller says which commit a resource is of."""
