"""Checks across several resources: conflicts, references, ownership.

In come parsed resources; out goes what is declared for each Kafka cluster (Desired), or problems.

Read `assembly` (resources to Desired), `verdicts` (what is wrong with single ones),
`declaration_limits`, `cross_checks`; for files: `folder`,
`document_heads` (whose a document is) and `folder_conflicts`.
"""
