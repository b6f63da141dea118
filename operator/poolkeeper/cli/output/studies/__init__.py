"""The studies of `poolkeeper whatif`, as text and as JSON values.

In comes what a study found, out go lines. Each study has a module: `loss_text` (brokers lost),
`keys_text` (partitions added to keyed topics), `consumers_text` (a consumer group that changes).
"""
