"""What keeps the conversations: one package per database, with one contract."""
