"""Consumer partition assignors, as Kafka's clients compute them.

In come topics and members (`group`), out goes who reads which partition (`assign`). Read `group`
first, then `range_assignor` and `round_robin_assignor`, then the folder `sticky`. `java_order` is
what the results owe to Java's hash maps and strings, `racks` when racks count, `member_order` who
comes first, and `partition_numbers` how partitions are numbered while one is computed.
"""
