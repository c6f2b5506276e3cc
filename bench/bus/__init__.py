"""How fast a message comes over the bus, beside a relay that does nothing else and beside the stock message bus."""
