"""The version of Dicent."""

__version__ = "0.2.0"
