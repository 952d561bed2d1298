"""The table of episodes: everything is a row of it, and every question is asked of it."""
