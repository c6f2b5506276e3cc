"""How well units are read out of messages: two labelled halves, scored apart."""
