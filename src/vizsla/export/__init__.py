"""Models written as ONNX, and int8 checked before it is used."""
