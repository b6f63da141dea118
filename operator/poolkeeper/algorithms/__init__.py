"""Kafka's own algorithms, exactly: assignment, names, reassignment, throttles, elections, sizes."""
