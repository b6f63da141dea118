"""Full disks: no broker takes in more than it has space for, and stages never get stuck over it.

In come the steps of a plan and what is free on every broker, with the copies that a stage makes
before it frees anything; out goes which steps may go now.

Read `disk_space` (what is free, up to the high-water mark), `disk_order` (an order in which all
steps find space), `disk_reserve` (which steps may go ahead of that order), `disk_deadlock` (why
no order is found).
"""
