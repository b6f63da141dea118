"""Manifests and API bodies to specs with all problems at once; specs back to manifests.

In come files or API bodies; out go a Desired for each Kafka cluster, and statuses. Read `parse`
(text to checked values), `kinds` (one resource), `checks` (several together), `status` (what is
said of them), `write` (manifests).
"""
