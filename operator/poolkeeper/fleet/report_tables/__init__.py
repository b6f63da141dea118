"""What a fleet's report shows beyond plans: from the tables of clusters to values, and to tables.

Read `cluster_tables` (what is read of a cluster), `partition_loads` (its partitions as columns,
with what the load history knows), then `broker_loads`, `hottest`, `snapshots`, which are each a
function of one cluster; `day_rows` has the tables that a day's report is kept as. Nothing here
knows where tables lie.
"""
