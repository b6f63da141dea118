"""Specs to manifests: fields in the order of the schemas, defaults left out.

Read `manifests`, `names`, `import_cluster` (manifests of an existing cluster), `new_topic`.
"""
