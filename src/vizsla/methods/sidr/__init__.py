"""SiDR: a transformer that speaks in tokens, over binary token lists and over vectors of its own."""
