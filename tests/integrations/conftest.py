"""No framework reports to its vendor from a test."""

import os

os.environ.setdefault("HAYSTACK_TELEMETRY_ENABLED", "False")
os.environ.setdefault("LANGCHAIN_TRACING_V2", "false")
