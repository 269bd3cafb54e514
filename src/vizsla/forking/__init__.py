"""What threads share, sound in forked children too: these have one thread, and nobody else will free a lock."""
