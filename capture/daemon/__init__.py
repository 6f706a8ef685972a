"""The daemon: one process that owns the devices and shoots what pages and commands ask for.

`service` runs the engine of `capture run` on a thread of its own; `api` lets it be seen and
steered; `server` keeps both alive. Nothing here decides how a sweep is shot.
"""
