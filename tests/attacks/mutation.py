"""Inputs made by chance: bytes that are changed, and pieces that are put together by a grammar."""

import struct

ODD_NUMBERS = [
    *("0", "1", "-1", "+1", "-0", "0.5", "2.25", ".5", "5.", "1e-3", "1E+7", "007", "1_0", "0x1F"),
    *(
        "3e38",
        "3.4028236e38",
        "1e39",
        "-1e39",
        "1e-46",
        "7e-46",
        "1e400",
        "1e-400",
        "1e99999999999",
    ),
    *("inf", "-inf", "nan", "NaN", "Infinity", "+inf", "infinit", "1e", "1e+", ".", "-", "+", "e5"),
    *("4294967296", "9223372036854775808", "18446744073709551614", "18446744073709551615"),
    *("18446744073709551616", "123456789012345678901234567890", "0." + "0" * 50 + "1"),
    *("16777217", "0.1", "1.17549435e-38", "1.4e-45", "179769313486231570000000000000000e300"),
]
LETTERS = [
    "a",
    "b",
    "ab",
    "x1",
    "ü",
    "日本",
    "é",
    "\u200b",
    "x" * 15,
    "y" * 16,
    "z" * 33,
    "0",
    "12",
]


def a_number(rng):
    """A number as text; one in ten is odd, and perhaps none."""
    kind = rng.randrange(20)
    if kind < 2:
        return rng.choice(ODD_NUMBERS)
    if kind < 12:
        return rng.choice(("1", "-1", "0.5", "2.25", "1e-3", "7", str(rng.randrange(-100, 1000))))
    if kind < 18:
        return repr(
            struct.unpack("<f", struct.pack("<f", rng.gauss(0, 10 ** rng.randrange(-9, 9))))[0]
        )
    if kind < 19:
        return repr(struct.unpack("<f", rng.randbytes(4))[0])
    digits = "".join(rng.choices("0123456789.", k=rng.randrange(1, 24)))
    return digits + (f"e{rng.randrange(-60, 60)}" if rng.random() < 0.3 else "")


def a_name(rng):
    """A short name; some are long, some are no letters."""
    if rng.random() < 0.7:
        return rng.choice(LETTERS)
    n = rng.choice((0, 1, 2, 3, 7, 8, 9, 31, 32, 33, 64, 200))
    return "".join(rng.choices("abcXYZ_=^*#+-.'\"/\\é", k=n))


def changed(data, rng, pieces=(), others=()):
    """Bytes with a few changes: bits, cuts, copies, pieces put in, the rest of another input."""
    data = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 6))):
        at = rng.randrange(len(data) + 1)
        kind = rng.randrange(8)
        if kind == 0 and at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 1 and at < len(data):
            data[at] = rng.randrange(256)
        elif kind == 2:
            del data[at : at + rng.choice((1, 1, 2, 4, 16, 64, len(data)))]
        elif kind == 3:
            n = rng.choice((1, 2, 8, 32))
            data[at:at] = data[at : at + n] * rng.choice((1, 1, 2, 9))
        elif kind == 4 and others:
            other = rng.choice(others)
            data[at:] = other[rng.randrange(len(other) + 1) :]
        elif kind == 5 and len(data) >= 4:
            at = min(at, len(data) - 4)
            number = rng.choice((0, 1, 0xFF, 0x7FFFFFFF, 0xFFFFFFFF, 0x80000000, len(data)))
            data[at : at + 4] = number.to_bytes(4, "little")
        elif pieces:
            data[at : at + rng.choice((0, 0, 1, 3))] = rng.choice(pieces)
        else:
            data[at:at] = rng.randbytes(rng.choice((1, 2, 8)))
    return bytes(data)


def several(make, rng, most):
    """Some of what ``make`` makes."""
    return [make(rng) for _ in range(rng.randrange(most + 1))]


# A document of each text format


def vw(rng):
    """VW text of a few lines."""
    end = rng.choice(("\n", "\n", "\n", "\r\n"))
    return "".join(_vw_line(rng) + end for _ in range(rng.choice((1, 1, 2, 3, 8)))).encode()


def _vw_line(rng):
    if rng.random() < 0.05:
        return rng.choice(("", " ", "\t", "|", "||", "1", "1 2 3 4 | a"))
    head = " ".join(a_number(rng) for _ in range(rng.choice((0, 1, 1, 1, 2, 3))))
    tag = rng.choice(("", "", "", "", "", "'t", "'t ", "t", "'", "'5 "))
    sections = [_vw_section(rng) for _ in range(rng.choice((1, 1, 2, 3)))]
    return f"{head} {tag}" + rng.choice(("", " ", " ")).join(sections)


def _vw_section(rng):
    space = rng.choice(("", "f", "g", "f", a_name(rng)))
    scale = f":{a_number(rng)}" if rng.random() < 0.1 else ""
    gap = rng.choice((" ", " ", " ", "  ", "\t"))
    return f"|{space}{scale}{gap}" + gap.join(several(_vw_feature, rng, 6))


def _vw_feature(rng):
    kind = rng.random()
    if kind < 0.4:
        return a_name(rng)
    return f"{a_name(rng)}:{a_number(rng) if kind < 0.9 else a_name(rng)}"


VW_PIECES = [
    *(
        b"|",
        b":",
        b" ",
        b"\t",
        b"\n",
        b"\r",
        b"\r\n",
        b"\0",
        b"'",
        b"\xff",
        b"\xef\xbb\xbf",
        b"|f ",
    ),
    *(
        b"1 |",
        b":1",
        b":nan",
        b"::",
        b"\n\n",
        b"e",
        b".",
        b"9" * 20,
        b"x" * 40,
        b" a:1e39",
        b"|:2 a",
    ),
]


def svmlight(rng):
    """svmlight text of a few lines."""
    return "".join(_svmlight_line(rng) + "\n" for _ in range(rng.choice((1, 1, 2, 3, 8)))).encode()


def _svmlight_line(rng):
    words = [a_number(rng)]
    if rng.random() < 0.15:
        words.append(f"qid:{rng.choice(('1', '-3', '', 'x', '007'))}")
    for _ in range(rng.randrange(7)):
        index = str(rng.randrange(300)) if rng.random() < 0.97 else a_number(rng)
        words.append(f"{index}:{a_number(rng)}")
    if rng.random() < 0.1:
        words.append("# " + a_name(rng))
    return rng.choice((" ", " ", "\t", "  ")).join(words)


SVMLIGHT_PIECES = [
    *(
        b":",
        b" ",
        b"\t",
        b"\n",
        b"\r",
        b"\r\n",
        b"\0",
        b"#",
        b",",
        b"qid:1",
        b"\xff",
        b"\xef\xbb\xbf",
    ),
    *(b"1:1", b" 0:0", b":nan", b"::", b"01:1", b"9" * 21 + b":1", b"\n\n", b"e", b".", b" 5:1e39"),
]


def cells(rng, n_columns, delimiter=","):
    """CSV with a header and a few rows; a column has mostly one kind of cell."""
    names = ["label", *rng.sample(("a", "b", "zip", "ü", "a b", "w"), n_columns - 1)]
    kinds = [rng.choice(("number", "number", "word", "truth", "code")) for _ in names]
    kinds[0] = "label"
    rows = [[_cell(rng, kind) for kind in kinds] for _ in range(rng.choice((0, 1, 2, 5, 12)))]
    end = rng.choice(("\n", "\n", "\r\n"))
    lines = [delimiter.join(map(_quoted, row)) for row in [names, *rows]]
    return (end.join(lines) + rng.choice(("", end))).encode()


def _cell(rng, kind):
    if rng.random() < 0.1:
        return rng.choice(("", "", "NA", "nan", "?", " ", "-", "null"))
    if rng.random() < 0.03:
        return rng.choice((a_number(rng), a_name(rng)))
    if kind == "label":
        return rng.choice(("0", "1", "-1", "1", "0", "2.5"))
    if kind == "number":
        return a_number(rng) if rng.random() < 0.3 else str(rng.randrange(50))
    if kind == "truth":
        return rng.choice(("true", "false", "True"))
    if kind == "code":
        return f"{rng.randrange(200):03d}"
    return rng.choice(("red", "blue", 'say "hi"', "a,b", "two\nlines", "", "ü", a_name(rng)))


def _quoted(cell):
    if any(c in cell for c in ',"\n\r\t'):
        return '"' + cell.replace('"', '""') + '"'
    return cell


CSV_PIECES = [
    *(
        b",",
        b"\t",
        b'"',
        b'""',
        b"\n",
        b"\r",
        b"\r\n",
        b"\0",
        b"\xff",
        b"\xef\xbb\xbf",
        b",,",
        b"\n\n",
    ),
    *(
        b'"\n',
        b'",',
        b',"',
        b"NA",
        b"1e400",
        b"inf",
        b"true",
        b"007",
        b'"a\nb"',
        b" ",
        b"0.1",
        b"x",
    ),
]


# Values of JSON


def a_value(rng, depth=0):
    """Any JSON value."""
    kind = rng.randrange(9)
    if kind < 3:
        return rng.choice((0, 1, -1, 3.5, 1e38, 1e39, 2**31, 2**63, 2**64, 2**70, 0.1, -0.0, 1e-46))
    if kind < 5:
        return rng.choice((a_name(rng), "", "red", "blue", a_number(rng), "a\0b", "1 2 3"))
    if kind == 5:
        return rng.choice((True, False, None))
    if kind == 6:
        return [rng.choice(("p", "q", "", a_name(rng))) for _ in range(rng.randrange(4))]
    if kind == 7 and depth < 2:
        return {a_name(rng): a_value(rng, depth + 1) for _ in range(rng.randrange(4))}
    return rng.choice((1, 2.5, "x", None))


JSON_PIECES = [
    *(
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b":",
        b'"',
        b"\\",
        b"\\u0000",
        b"\\ud800",
        b"null",
        b"true",
        b"NaN",
    ),
    *(
        b'"a":1,',
        b'"label":1,',
        b'"features":{',
        b"1e400",
        b"-0",
        b"\n",
        b"\r\n",
        b"\0",
        b"\xff",
        b" ",
    ),
    *(b'"weight":-1,', b'"tag":"t",', b"9" * 25, b"\xef\xbb\xbf", b"-", b"0.10", b"1E5", b'""'),
]
