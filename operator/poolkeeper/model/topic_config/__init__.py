"""The config of topics as Kafka knows it.

Read `keys` (which there are, in which releases), `values` (what each may hold), `table` (how both
are written down), `destructive_changes` (which changes may lose records).
"""
