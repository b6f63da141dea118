"""Planning Jobs on Kubernetes: their manifests, their lifecycle, and long texts in ConfigMaps.

Read `jobs` (create, adopt, read, delete), `planner_pods` (manifests of the Job and its pods),
`pod_failures` (why they failed), `configmap_blob` (a long text in several ConfigMaps).
"""
