"""The names of Poolkeeper's resources in Kubernetes; files use the same names."""

GROUP = "poolkeeper.dev"
VERSION = "v1alpha1"
API_VERSION = f"{GROUP}/{VERSION}"
FINALIZER = f"{GROUP}/finalizer"
REQUEST = f"{GROUP}/request"
DELETION = f"{GROUP}/deletion"
ABANDON = "abandon"
