"""What the embedded face offers beside talking: units and knowledge bases."""
