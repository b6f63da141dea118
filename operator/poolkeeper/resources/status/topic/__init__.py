"""The status of a Topic: where its replicas are, and the Ready condition that applies.

In come the inputs of all statuses and one Topic; out goes the body of its status.

Read `topic_status`, then `ready_rules` (the conditions, in their order) with `claim_rules` (whose
the Kafka topic is), `situation` (what the rules look at) and `differences` (what is left to do).
"""
