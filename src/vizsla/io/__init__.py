"""Reading and writing data sets, one module per format."""
