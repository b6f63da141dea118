"""Partitions and moves by column, where there are too many to look at one by one.

In come objects or decoded nodes, out go vectors, and the objects again where somebody asks for one.
Read `replica_lists` (the lists of all partitions in two vectors), then `partition_columns` (of a
cluster), `partition_queries` (what is asked of them), `log_dir_columns` (where replicas are on
their brokers), `move_columns` (of a plan), `wide_lists` (lists compared within a row),
`list_lengths` (how long a list may be) and `broker_totals` (what brokers hold).
"""
