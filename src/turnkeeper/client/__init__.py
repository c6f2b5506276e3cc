"""What programs outside of the server use to talk to it."""
