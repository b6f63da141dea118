"""What is wrong with our nodes and with Kafka's, and how it is mended.

In come a session and the cluster as observed; out go findings (`values`): a node, what is wrong
with it, and what mending it writes or removes, or why it cannot be mended. `our_findings` looks at
our nodes, `kafka_findings` at Kafka's, `throttle_findings` at throttles that no run accounts for;
`topic_bodies` says what a poisoned topic node should hold.
`mend` carries findings out, each in one transaction, fenced and versioned. `next_controller` tells
whether the controller in charge has read what is mended.
"""
