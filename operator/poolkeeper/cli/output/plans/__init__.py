"""A plan, and what it does to a cluster, as text and as a live page.

In come a plan and what it was made for, out go lines. Read `plan_text` and `plan_lines` (a plan as
a diff), its tables `brokers_table`, `capacity_table` and `groups_table`, then `plan_page` (live),
`topic_text` (why one topic is where it is) and `rehearsal_text` (how it went on a copy).
"""
