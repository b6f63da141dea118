"""Live pages: clusters as they are now, from one read-only server on this machine.

What comes in: for each cluster, how to look at it and how what was seen is told as a report
(`report.document`). What goes out: pages in a browser that keep themselves up to date. The room
knows nothing of Kafka: whoever starts it brings the looks, and nothing here can write to a cluster.

Read `watch` (one paced look that all viewers share), `registry` (which pages there are, and where
another one goes), `events` (how a page keeps itself up to date), `access` (who may see it),
`server`.
"""
