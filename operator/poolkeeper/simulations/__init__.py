"""Kafka's algorithms, asked by lines of JSON: what `poolkeeper simulate` answers.

In comes a line with a kind and its input, out goes a line with the output or what is wrong. Read
`kinds` (the table), then `lines` (what a line may be). The inputs of each kind, and what is made of
them, are in `cluster_kinds`, `producer_kinds` and `group_kinds`; `bounds` says how large inputs may
be.
"""
