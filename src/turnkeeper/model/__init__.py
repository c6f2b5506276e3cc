"""The nouns of a conversation: frozen, typed, checked at birth, free of I/O and of clocks."""
