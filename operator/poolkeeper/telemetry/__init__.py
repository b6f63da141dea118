"""What a running process tells about itself: metrics, probes, log lines. It never decides."""
