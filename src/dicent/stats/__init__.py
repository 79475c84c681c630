"""Statistics of matches: pure functions without other imports from Dicent."""
