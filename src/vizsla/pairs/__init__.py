"""Models that read a query and an item together: cross-encoders, in torch and in ONNX."""
