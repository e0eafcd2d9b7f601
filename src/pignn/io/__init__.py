"""Files: written whole or not at all, and read so that they cannot run code."""
