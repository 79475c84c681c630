"""Benchmarks of this machine, each row a ratio measured in one run."""
