"""The report of a fit: one picture, and one HTML file that needs nothing else."""

from edgekit.calibration.report.write import ReportContent, report_files, write_report

__all__ = ["ReportContent", "report_files", "write_report"]
