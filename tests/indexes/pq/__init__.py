"""Product quantization."""
