"""The report: one HTML page without outside requests, and each figure as SVG, PNG and CSV."""

from evaluate.report.page import Report, write_report

__all__ = ["Report", "write_report"]
