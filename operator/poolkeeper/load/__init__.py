"""Measured load: from a Prometheus server to figures by partition in an observed cluster.

In come the declared source and an observed Cluster; out goes the same Cluster with bytes per
second.

Read `prometheus` (the HTTP API), `time_series` (percentiles and growth, pure), `apply` (figures
into a Cluster), `refresh` (one cluster's history, kept up to date for its loop).
"""
