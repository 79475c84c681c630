"""The library: the games that people played, in an SQLite file."""
