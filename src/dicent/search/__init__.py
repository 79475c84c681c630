"""Searches: thin objects over kernels with one interface: analyse, play, stream."""
