"""Drawings: boards on the terminal and as SVG, charts and pages."""
