"""A game package as others may write it: rules, a kernel, and extras of every kind. Tests install it."""
