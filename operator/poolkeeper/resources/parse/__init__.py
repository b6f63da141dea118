"""Text to checked values: YAML with lines, JSON schema messages, quantities, selectors.

In come files and bodies; out come plain values with the location of every field, and problems.

Read `files`, `yaml_documents`, `scalars`, `locations`, `schemas`, `schema_validator` and
`schema_messages` (the resource definitions, offline), `body`, `pruning` (what a server sends of a
later release), then values of single fields: `quantities`, `schedules`, `selectors`, `addresses`;
`client_config` and `secret_config` hold credentials.
"""
