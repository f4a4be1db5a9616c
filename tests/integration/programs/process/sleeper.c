/* sleeper: sleeps by every function, and prints the duration of each by its own clocks, in milliseconds.
 * sleeper SECONDS: duration of each. */
#define _GNU_SOURCE /* ppoll */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/select.h>
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
  end("poll", poll(NULL, 0, 250));

  const struct timespec quarter = {0, 250000000};
  begin();
  end("ppoll", ppoll(NULL, 0, &quarter, NULL));

  struct timeval left = {0, 250000};
  begin();
  end("select", select(0, NULL, NULL, NULL, &left));

  begin();
  end("pselect", pselect(0, NULL, NULL, NULL, &quarter, NULL));

  begin(); /* descriptors are the system's to wait for: this one is ready at once */
  struct pollfd output = {1, POLLOUT, 0};
  end("ready", poll(&output, 1, 1000));

  begin();
  const int refused = nanosleep(&wrong, NULL);
  end("refused", refused == -1 && errno == EINVAL);
  return 0;
}
