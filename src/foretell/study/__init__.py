"""Planning a study, running it, and keeping its episodes."""
