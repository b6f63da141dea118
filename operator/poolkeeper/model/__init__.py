"""Frozen values that all rooms share: the cluster as observed, the specs as declared, the plan.

Read `topology` (a cluster as observed), `specs` (what people declare), `plans` (what would be
done), `records` (what is remembered), `runs` (a plan under way); `waits`, `actions`, `refusals` and
`problems` are reasons with their numbers; `outcomes` is what a pass ended with. `snapshots` and
`typed_json` are a cluster as a file; `config_keys`, `config_table`, `config_values` and `versions`
are Kafka's.
"""
