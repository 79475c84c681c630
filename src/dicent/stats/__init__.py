"""Statistics of matches: pure functions, which import nothing of ours."""
