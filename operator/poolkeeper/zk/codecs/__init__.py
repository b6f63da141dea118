"""What znodes hold: bytes to values and values to bytes, strictly.

`kafka_nodes` has Kafka's own formats; `state_nodes` and `assignments` decode by type the two that
are read most. `our_nodes` has Poolkeeper's, `json_bodies` what all need.
"""
