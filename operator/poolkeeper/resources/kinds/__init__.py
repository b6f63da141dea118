"""A module per kind of resource: its body to its spec, with every problem that it alone can tell.

`custom_resource` is a resource as the operator keeps it: what was declared, parsed, and its status.
"""
