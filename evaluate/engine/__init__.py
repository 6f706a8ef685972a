"""Ask many models about many frames: decoded once, resumable, here or on several machines."""
