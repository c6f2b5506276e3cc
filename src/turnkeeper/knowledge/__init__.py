"""What is known: units in their text form, extraction, dedup, retrieval and knowledge bases."""
