"""Networks: torch modules."""
