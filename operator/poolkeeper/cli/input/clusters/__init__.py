"""The cluster of a command: opened, read once, or taken from a snapshot. Nothing is written.

In come checked options, out go the systems and what was read of them. Read `targets` (which systems
to open, and what is declared), `cluster_reading` (reads a cluster once), `plan_observation` (what a
plan is made for), `what_if` (supposes other brokers), `live_groups` (who reads it),
`status_reading` (all that `status` shows) and `studied_cluster` (what a study is about).
"""
