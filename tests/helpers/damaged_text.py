"""Text with bytes put in, taken out and changed, and other bytes that are hardly text."""

from hypothesis import strategies as st


@st.composite
def damaged(draw, texts, pieces):
    """A text with some of the pieces in the place of a few bytes."""
    data = bytearray(draw(texts))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(data)))
        data[at : at + draw(st.integers(0, 2))] = draw(pieces)
    return bytes(data)


def anything(texts, pieces, letters):
    """A text, a damaged one, some of the letters, or any bytes."""
    scraps = st.lists(st.sampled_from([bytes([b]) for b in letters]), max_size=40)
    return st.one_of(
        texts,
        damaged(texts, st.sampled_from(pieces)),
        scraps.map(b"".join),
        st.binary(max_size=60),
    )
