"""The library: games that people have played, in SQLite."""
