"""Learning by self-play: the paper's components, each a piece that can be exchanged."""
