"""What happened, so that it can be followed, explained and proved."""
