"""Color discrimination: what the color of an object against its background does to answers."""
