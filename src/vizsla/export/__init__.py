"""Models written for other runtimes, and checked before they are trusted."""
