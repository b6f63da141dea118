"""The report of a fleet: values in, a page and its Markdown out.

Read `fleet_report` with the room `sections`, then `forecast` (which brokers to add until a date),
`differences` (to an earlier day) and `gaps` (what a day should have and does not).
"""
