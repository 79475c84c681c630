"""Evaluators map batches of states to values; wrappers add caching, symmetries and exact values."""
