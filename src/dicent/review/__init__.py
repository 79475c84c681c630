"""Reviews: what a strong judge says of a finished game."""
