"""The folder format of saved objects: manifest, writer, reader, atomic renames."""
