"""The paper's tables from a catalog, as CSV, LaTeX and Markdown."""
