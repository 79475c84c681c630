"""The games that come with Dicent: one module each, rules first, text and view last."""
