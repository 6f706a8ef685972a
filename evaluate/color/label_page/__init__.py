"""The page where people label colors."""
