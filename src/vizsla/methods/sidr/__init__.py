"""SiDR: a transformer that speaks in tokens, over binary bags of tokens and over vectors of its own."""
