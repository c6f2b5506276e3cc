"""What a user wants: finding it out, holding on to it, and collecting what it takes."""
