"""A whole cluster, read once.

In come a session and what is remembered of the cluster; out goes a Cluster, with what could not be
read. Read `observe` (which nodes, in which order), `readings` (what is made of them, pure),
`version_inference` (which release wrote them), `ended_growths` (what moves no more although a node
says so), and `reading_cache` (what is not read again while nothing is written).
"""
