"""A stranger's shape becomes an Event: one adapter for each channel."""
