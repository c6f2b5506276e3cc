"""How fast a turn is: ours, the bare database's, and that of the session stores people use instead."""
