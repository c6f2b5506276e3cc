"""Understanding and being understood by clients from before the specifications; all of it on the wire."""
