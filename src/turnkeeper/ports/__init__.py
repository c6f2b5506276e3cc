"""What we ask of the world: Protocols, the words they are spoken in, and nothing else."""
