"""The experiments of the paper, end to end: learning, round robin, matches against AlphaZero, report."""
