"""One module or folder per format."""
