"""Planning Jobs on Kubernetes: their manifests, their life, and long texts in ConfigMaps.

Read `jobs` (created, adopted, looked at, deleted), `planner_pods` (the Job and its pods),
`pod_failures` (what became of them), `configmap_blob` (a long text in pieces).
"""
