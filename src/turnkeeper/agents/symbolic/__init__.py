"""The agent that needs no model: it answers from units, with citations, through plugins that can be exchanged."""
