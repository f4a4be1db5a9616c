"""Two NumPy arrays: one placed by intent, both named for the profile."""

import numpy as np
import terrace

with terrace.intent("bandwidth"):
    field = np.zeros(2_000_000)
step = np.ones(2_000_000)
terrace.array("field", field)
terrace.array("step", step)
for _ in range(5):
    field += step
print(f"field[0] = {field[0]}")
