/* sleeper: sleeps in every way that there is, and prints how long each took by its own clocks, in milliseconds.
 * sleeper SECONDS: each for so long. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static struct timespec begun;

static double passed(const struct timespec* since) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)(now.tv_sec - since->tv_sec) + 1e-9 * (double)(now.tv_nsec - since->tv_nsec);
}

static void begin(void) { clock_gettime(CLOCK_MONOTONIC, &begun); }
static void end(const char* how, int status) { printf("%s %d %.0f ms\n", how, status, 1e3 * passed(&begun)); }

int main(int count, char** words) {
  const time_t seconds = count > 1 ? atol(words[1]) : 1;
  const struct timespec wanted = {seconds, 0};
  struct timespec wrong = {0, 1000000000};

  begin();
  end("sleep", (int)sleep((unsigned)seconds));

  begin();
  end("nanosleep", nanosleep(&wanted, NULL));

  begin();
  end("clock_nanosleep", clock_nanosleep(CLOCK_MONOTONIC, 0, &wanted, NULL));

  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += seconds;
  begin();
  end("until", clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &until, NULL));

  begin(); /* that time has gone by */
  end("at once", clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &until, NULL));

  begin();
  end("usleep", usleep(500000));

  begin();
  const int refused = nanosleep(&wrong, NULL);
  end("refused", refused == -1 && errno == EINVAL);
  return 0;
}
