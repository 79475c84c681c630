"""The experiments of the paper, end to end: training, round robin, matches against AlphaZero, report."""
