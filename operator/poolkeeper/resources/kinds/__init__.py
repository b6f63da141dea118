"""One module per kind of resource: its body to its spec, with every problem of that resource alone.

Read `kafka_cluster`, `resource_pool`, `topic` and `rebalance`. `custom_resource` is a resource as
the operator stores it: parsed spec and live status.
"""
