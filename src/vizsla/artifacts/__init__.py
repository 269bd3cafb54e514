"""What an artefact's folder is made of: strict JSON, plain arrays, a manifest, and how it gets into place."""
