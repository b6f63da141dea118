"""What znodes hold: bytes to values and values to bytes, strictly.

`kafka_nodes` has Kafka's own formats, and `state_nodes` the one that is read most. `our_nodes` has
Poolkeeper's, `json_bodies` what all need.
"""
