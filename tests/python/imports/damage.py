"""Random damage to files."""

from hypothesis import strategies as st


def damaged(data: st.DataObject, content: bytes, most: int) -> bytes:
    """Returns the content, possibly truncated, with up to that many bytes replaced."""
    text = bytearray(content)
    if data.draw(st.booleans()):
        del text[data.draw(st.integers(0, len(text))) :]
    for _ in range(data.draw(st.integers(1, most))):
        if text:
            text[data.draw(st.integers(0, len(text) - 1))] = data.draw(st.integers(0, 255))
    return bytes(text)
