"""Exact values: a solver for any small game, endgame tables of EinStein würfelt nicht!."""
