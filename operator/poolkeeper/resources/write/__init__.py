"""Specs to manifests: ordered as the schemas are, defaults left out.

Read `manifests`, `names`, `import_cluster` (manifests for a cluster as it is), `new_topic`.
"""
