"""Indexes over product-quantized vectors."""
