"""What a Turnkeeper can be asked to do: one file for each kind of thing."""
