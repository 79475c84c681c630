"""The endgame tablebase: index, files, build, and the kernel that fills and reads it."""
