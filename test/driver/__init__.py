"""What ./test/run runs: the parts, the environments and builds that they need, and the report."""
