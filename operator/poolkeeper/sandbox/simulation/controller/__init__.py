"""The simulated Kafka controller, write by write as Kafka's code does it.

Read `candidate` (how a broker becomes it), `controller` (what it remembers), `event_queue`,
`membership`, `topics`, `elections` with `election_rules`, `request_node`, `reassignment_starts`,
`reassignment_steps`.
"""
