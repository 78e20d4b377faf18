"""HTML parts: escaped tags, tables, charts as SVG, and the one stylesheet and script they share."""
