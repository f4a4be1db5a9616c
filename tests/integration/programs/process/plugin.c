/* The library that host loads. */
void smooth(double* field, int n) {
  for (int i = 1; i < n; ++i) field[i - 1] = field[i - 1] + 1;
}

void relax(double* field, int n) {
  for (int i = 0; i < n; ++i) field[i] += 1;
}
