"""The web application: an HTTP interface to games, library, reviews and runs, and its pages."""
