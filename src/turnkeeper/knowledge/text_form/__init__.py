"""Units as text: a small language of one statement a line, read, checked and written."""
