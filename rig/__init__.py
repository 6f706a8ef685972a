"""The rig: device protocols, the two real drivers, `rig.toml` and the root command."""
