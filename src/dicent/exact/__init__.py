"""Exact values: a solver for small games, tablebases, and samples to measure players by."""
