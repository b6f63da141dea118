"""What znodes hold: bytes to values and values to bytes, strictly.

`kafka_nodes` has Kafka's own formats, `our_nodes` Poolkeeper's, `json_bodies` what both need.
"""
