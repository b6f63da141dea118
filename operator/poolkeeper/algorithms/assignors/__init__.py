"""Consumer partition assignors, as Kafka's clients compute them.

In come topics and members (`group`), out goes who reads which partition (`assign`). Read `group`
first, then `range_assignor` and `round_robin_assignor`, then the folder `sticky`. `java_order` is
the order of Java's hash maps and strings, on which the results depend. `racks` says when racks
count, `member_order` in which order members are served, and `partition_numbers` how partitions are
numbered while an assignment is computed.
"""
