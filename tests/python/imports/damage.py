"""What a disk, a copy or a stranger may do to a file."""

from hypothesis import strategies as st


def damaged(data: st.DataObject, content: bytes, most: int) -> bytes:
    """The content cut short, or not, with up to so many bytes replaced."""
    text = bytearray(content)
    if data.draw(st.booleans()):
        del text[data.draw(st.integers(0, len(text))) :]
    for _ in range(data.draw(st.integers(1, most))):
        if text:
            text[data.draw(st.integers(0, len(text) - 1))] = data.draw(st.integers(0, 255))
    return bytes(text)
