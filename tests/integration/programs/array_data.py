"""NumPy arrays that are larger than memory: of its own, and over anonymous private mappings.

array_data.py MIB     prints checksums
"""

import mmap
import sys

import numpy as np
import numpy.typing as npt


def mapped(words: int) -> npt.NDArray[np.int64]:
    """Zeros in a mapping of their own."""
    memory = mmap.mmap(-1, words * 8, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return np.frombuffer(memory, dtype=np.int64)


def main() -> None:
    words = int(sys.argv[1]) * (1 << 20) // 8 // 4
    own = np.arange(words, dtype=np.int64)
    over = mapped(words)
    copy = np.zeros(words, dtype=np.int64)
    for round_number in range(1, 4):
        over += own * round_number
        copy[::-1] += over
    grown = mmap.mmap(-1, words * 8, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    grown[: 1 << 20] = b"x" * (1 << 20)
    grown.resize(words * 12)  # mremap
    text = np.frombuffer(grown, dtype=np.uint8)
    print(int(over.sum()), int((copy * own).sum()), int(text.sum()), len(text))


if __name__ == "__main__":
    main()
