"""foretell tells how a robot policy will do in the real world, and how far to trust the answer."""
