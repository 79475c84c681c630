"""Backgammon and hypergammon: the rules by whole turns.

The game is not registered yet: searches size their buffers by NUM_ACTIONS, which is large here.
"""
