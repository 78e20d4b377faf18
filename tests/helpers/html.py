"""Reading pages back, as a browser does."""

from html.parser import HTMLParser

HOSTILE = "<script>alert(1)</script>"


class Page(HTMLParser):
    """The elements of a page, their attributes, its text, and the cells of its tables."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes, self.text = [], [], ""
        self.tables, self.figures, self._open = {}, {}, []
        self._caption, self._row, self._cell, self._name = None, None, None, ""
        self.feed(page)
        self.close()

    def handle_starttag(self, name, attributes):
        self.tags.append(name)
        self.attributes += [(name, *each) for each in attributes]
        self._open.append(name)
        match name:
            case "table":
                self._caption, rows = "", []
                self._rows = rows
            case "tr":
                self._row = []
            case "td" | "th":
                self._cell = [dict(attributes).get("data-v"), ""]
            case "dt":
                self._name = ""
            case "data":
                self.figures[self._name] = float(dict(attributes)["value"] or "nan")

    def handle_endtag(self, name):
        match name:
            case "tr":
                self._rows.append(self._row)
            case "td" | "th":
                value, text = self._cell
                self._row.append(text if value is None else float(value or "nan"))
                self._cell = None
            case "table":
                self.tables[self._caption] = self._rows
        while self._open and self._open.pop() != name:
            pass

    def handle_data(self, data):
        self.text += data
        if "caption" in self._open[-1:]:
            self._caption += data
        if "dt" in self._open[-1:]:
            self._name += data
        if self._cell is not None:
            self._cell[1] += data

    def table(self, begin):
        """The cells of the table whose caption begins so, without its heading."""
        [found] = [rows for caption, rows in self.tables.items() if caption.startswith(begin)]
        return found[1:]


def read(page):
    return Page(str(page))
