"""The steps of a turn, one file each; their order is written in engine.py."""
