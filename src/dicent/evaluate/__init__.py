"""Evaluators: what states are worth, asked for in batches; and wrappers around them."""
