"""`python -m hardware_mocks` is `snaprig darkroom`."""

from hardware_mocks.cli import darkroom

if __name__ == "__main__":
    darkroom(prog_name="snaprig darkroom")
