"""The API server for threads: blocking calls with deadlines, and our own error classes.

Read `client` (calls), `leadership` (the Lease), `objects` (statuses, events, finalizers), `jobs`
(planning Jobs).
"""
