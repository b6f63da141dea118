"""The config of topics as Kafka knows it.

Read `validation` (which keys and values a release takes, alone and together), `values` (how a value
is parsed), `table` (all keys, from `keys.json`), `destructive_changes` (which changes may lose
records), `config_check` (what brokers are asked), `min_insync` (how many replicas must be in sync).
"""
