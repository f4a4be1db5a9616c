// Samples the NUMA node of each page of another process by move_pages(2), at an interval. It shares no code with
// Terrace.
//
//   page_audit FILE MILLISECONDS NAME
//
// waits for a process whose executable has that name, asks where its pages lie, that long apart, until it ends,
// and writes lines:
//   clock REALTIME MONOTONIC    in ns, both at one time: first and last in the file
//   pages ADDRESS COUNT NODE    as in page_lines.h
//   inside 0 NUMBER - BEGUN BEGUN END    what the lines of pages before it are about: CLOCK_MONOTONIC in ns
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>

#include "page_lines.h"

static int64_t real_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void put_clock(void) { put("clock %lld %lld\n", (long long)real_ns(), (long long)now_ns()); }

static void wait_ms(long milliseconds) {
  const struct timespec pause = {milliseconds / 1000, milliseconds % 1000 * 1000000};
  nanosleep(&pause, NULL);
}

static int has_name(pid_t process, const char* name) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/%d/exe", (int)process);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  if (length <= 0) return 0;
  path[length] = '\0';
  const char* const slash = strrchr(path, '/');
  return slash && strcmp(slash + 1, name) == 0;
}

// 0: there is none.
static pid_t find_process(const char* name) {
  DIR* const all = opendir("/proc");
  pid_t found = 0;
  for (struct dirent* one; all && found == 0 && (one = readdir(all)) != NULL;)
    if (isdigit((unsigned char)one->d_name[0]) && has_name(atoi(one->d_name), name)) found = atoi(one->d_name);
  if (all) closedir(all);
  return found;
}

int main(int argc, char** argv) {
  const long every = argc == 4 ? atol(argv[2]) : 0;
  if (every <= 0) return 2;
  g_file = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (g_file < 0) return 1;
  pid_t process;
  while ((process = find_process(argv[3])) == 0) wait_ms(20);
  put_clock();
  flush_lines();  // the file has something in it: the process was found
  for (long number = 0;; ++number) {
    const int64_t begun = now_ns();
    // One that has ended and was not waited for has no executable any more.
    if (!has_name(process, argv[3]) || !audit_process(process)) break;
    put("inside 0 %ld - %lld %lld %lld\n", number, (long long)begun, (long long)begun, (long long)now_ns());
    wait_ms(every);
  }
  put_clock();
  flush_lines();
  return 0;
}
