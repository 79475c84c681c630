"""The games that come with Dicent: a module for a small game, a package for a large one."""
