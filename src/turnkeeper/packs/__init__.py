"""Reading, checking and comparing packs, from the files that people write."""
