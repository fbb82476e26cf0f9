"""Reports: Markdown and one self-contained web page, from the same document."""
