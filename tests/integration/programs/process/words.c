/* words: reads its arguments and an environment variable repeatedly, byte by byte, and prints their
 * sum. */
#include <stdio.h>
#include <stdlib.h>

static int total(const char* text) {
  int sum = 0;
  for (; *text; ++text) sum += *text;
  return sum;
}

int main(int count, char** words) {
  int sum = 0;
  for (int times = 0; times < 100; ++times) {
    for (int i = 1; i < count; ++i) sum += total(words[i]);
    const char* const home = getenv("HOME_OF_WORDS");
    if (home) sum += total(home);
  }
  printf("%d\n", sum);
  return 0;
}
