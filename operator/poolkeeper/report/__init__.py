"""What people read: plans and fleets as HTML and Markdown. Values in, text out; no I/O."""
