// Advances waves on a periodic grid in Fourier space, for limits.py: each of six steps turns the phases of all
// modes, transforms a copy back along three axes, and prints an energy. Inner loops repeat thousands of times.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { n = 64, points = n * n * n, steps = 6 };
typedef struct {
  double re, im;
} Mode;

static Mode modes[points], field[points], pencil[2][n], unit[n / 2];
static double speed[points];

// Stockham's transform of pencil[0]: each pass goes from one buffer to the other. Returns the buffer of the result.
static const Mode* transform_pencil(void) {
  Mode *from = pencil[0], *to = pencil[1];
  for (int half = n / 2, width = 1; half >= 1; half /= 2, width *= 2) {
    for (int p = 0; p < half; ++p) {
      const Mode w = unit[p * width];
      for (int q = 0; q < width; ++q) {
        const Mode a = from[q + width * p], b = from[q + width * (p + half)];
        const Mode d = {a.re - b.re, a.im - b.im};
        to[q + width * 2 * p] = (Mode){a.re + b.re, a.im + b.im};
        to[q + width * (2 * p + 1)] = (Mode){d.re * w.re - d.im * w.im, d.re * w.im + d.im * w.re};
      }
    }
    Mode* const swap = from;
    from = to, to = swap;
  }
  return from;
}

static void transform_axis(Mode* grid, int stride, int outer, int inner) {
  for (int i = 0; i < n; ++i)
    for (int k = 0; k < n; ++k) {
      Mode* const first = grid + (size_t)i * outer + (size_t)k * inner;
      for (int at = 0; at < n; ++at) pencil[0][at] = first[(size_t)at * stride];
      const Mode* const done = transform_pencil();
      for (int at = 0; at < n; ++at) first[(size_t)at * stride] = done[at];
    }
}

int main(void) {
  unsigned long seed = 11;
  for (int k = 0; k < n / 2; ++k) unit[k] = (Mode){cos(2 * M_PI * k / n), -sin(2 * M_PI * k / n)};
  for (int i = 0; i < points; ++i) {
    const int x = i % n, y = i / n % n, z = i / n / n;
    speed[i] = 0.01 * sqrt((double)(x * x + y * y + z * z));
    seed = seed * 6364136223846793005ul + 1442695040888963407ul;
    modes[i] = (Mode){(double)(seed >> 40) / (1 << 24), (double)(seed >> 44) / (1 << 20)};
  }
  for (int step = 1; step <= steps; ++step) {
    for (int i = 0; i < points; ++i) {
      const double c = 1 - 0.5 * speed[i] * speed[i], s = speed[i];
      modes[i] = (Mode){c * modes[i].re - s * modes[i].im, s * modes[i].re + c * modes[i].im};
    }
    for (int i = 0; i < points; ++i) field[i] = modes[i];
    transform_axis(field, 1, n * n, n);
    transform_axis(field, n, n * n, 1);
    transform_axis(field, n * n, n, 1);
    double energy = 0;
    for (int i = 0; i < points; ++i) energy += field[i].re * field[i].re + field[i].im * field[i].im;
    printf("%d %.10e\n", step, energy / points);
  }
  return 0;
}
