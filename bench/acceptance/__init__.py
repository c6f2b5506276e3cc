"""How long it takes until a message is durably taken in, beside a route that does nothing else."""
