"""EinStein würfelt nicht!: rules, text, view and everything else that knows this game."""
