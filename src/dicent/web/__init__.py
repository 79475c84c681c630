"""The web application: HTTP for games, the library, reviews and runs; and the pages that use it."""
