"""A simulated broker: its session, its disks, its throttles, and how its followers catch up.

Read `broker`, `log_dirs`, `transfers` (bytes as a fluid), `throttles` and `configs`, `isr_joining`.
"""
