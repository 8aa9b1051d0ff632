"""Implementation of ./test/run: the parts, the environments and builds that they need, and the report."""
