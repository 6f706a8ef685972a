"""`python -m rig` is the command `snaprig`."""

from rig.cli import main

main()
