"""The API server, as seen by threads: blocking calls with deadlines, in our words for errors.

Read `client` (calls), `leadership` (the Lease), `objects` (statuses, events, finalizers), `jobs`
(planning Jobs).
"""
