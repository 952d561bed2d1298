"""Scripts that run policies in environments of their own. They need nothing of foretell, and foretell imports none."""
