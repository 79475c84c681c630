"""Players, matches and records of games."""
