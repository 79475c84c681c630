"""Backgammon and hypergammon: rules by whole turns, text, and everything else that knows these games."""
