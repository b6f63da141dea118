"""What our resources are called towards Kubernetes; files and API server name them alike."""

GROUP = "poolkeeper.dev"
VERSION = "v1alpha1"
API_VERSION = f"{GROUP}/{VERSION}"
FINALIZER = f"{GROUP}/finalizer"
