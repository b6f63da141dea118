"""Kafka's own algorithms, exactly, held to its own classes by `tests/oracle`.

Of brokers and the controller: `assignments`, `names`, `internal_topics`, `reassignments`,
`throttles`, `elections`, `sizes`. Of clients: `partitioners` of producers, `assignors` of consumer
groups, and `groups`, which broker coordinates one.
"""
