"""Methods: each turns a catalogue, and perhaps clicks, into a Retriever."""
