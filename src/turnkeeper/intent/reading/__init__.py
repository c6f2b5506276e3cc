"""What stands in a message, before it is known which field it belongs to."""
