"""Everything that we write on objects of the API server: statuses, events, finalizers.

In come values by object. Out go writes, each repeated until it succeeds or is superseded.

Read `work_queue` with `turns`, and `rate_limit` (the order and rate of writes), `conditions`
(whether a status changed), `status_writer` with `lacking_definitions`, `events`, `finalizers`,
`plan_documents` (whole plans in ConfigMaps), `request_annotation` (takes a person's request off).
"""
