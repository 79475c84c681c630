"""The endgame tablebase: its index, its files, how it is built, and the kernel that reads it."""
