"""The daemon's own page: what the technician beside the dark room sees and presses."""
