"""Capture: the sweep runner, one shot, acceptance, scenes and exports."""
