"""Rows, rounds and tables of memarray's benchmarks."""
