"""Capture bias of image collections: exposure settings from the headers of many pictures."""
