// Random calls on private anonymous mappings, with each page checked against its expected contents.
//
//   mapped_data MIB OPERATIONS SEED     prints errors, or the number of operations
//
// The expected contents of a page are a number that generates its words; zero is a page of zeros. A thread writes
// and checks a mapping of its own concurrently.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, WORDS = PAGE / 8, WINDOW = 1 << 19, FILE_PAGES = 1024, HALF = WINDOW / 2 };

struct page {
  uint64_t holds;
  uint8_t mapped, ever, file, maybe_zero, rights;
};
static struct page pages[WINDOW];  // 2 GiB around the first mapping
static uintptr_t base;
static size_t mapped, most, total;
static uint64_t state, next_number = 1;
static int file;
static atomic_int stop;
static sem_t steps;

static uint64_t draw(uint64_t below) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (state >> 33) % below;
}

static uint64_t* at(size_t page) { return (uint64_t*)(base + page * PAGE); }

static void fail(const char* what, size_t page) {
  printf("%s: page %zu, %s\n", what, page, strerror(errno));
  exit(1);
}

static void fill(uint64_t* words, uint64_t number) {
  for (size_t i = 0; i < WORDS; ++i) words[i] = number ? number * 0x9e3779b97f4a7c15u + i : 0;
}

static int holds(const uint64_t* words, uint64_t number) {
  for (size_t i = 0; i < WORDS; ++i)
    if (words[i] != (number ? number * 0x9e3779b97f4a7c15u + i : 0)) return 0;
  return 1;
}

static void check(size_t page) {
  struct page* const one = &pages[page];
  if (!one->mapped || !(one->rights & PROT_READ)) return;
  if (holds(at(page), one->holds)) return;
  if (!one->maybe_zero || !holds(at(page), 0)) fail("holds something else", page);
}

static void set(size_t first, size_t count, uint64_t number, int is_file, int rights) {
  for (size_t i = first; i < first + count; ++i) {
    if (!pages[i].mapped) ++mapped;
    pages[i] = (struct page){number ? number + (i - first) : 0, 1, 1, (uint8_t)is_file, 0, (uint8_t)rights};
  }
}

// A range of the window in which something is mapped: its beginning.
static size_t some_page(void) {
  for (;;) {
    const size_t page = draw(WINDOW);
    for (size_t i = 0; i < 4096 && page + i < WINDOW; ++i)
      if (pages[page + i].mapped) return page + i;
  }
}

static size_t run_of(size_t first, size_t max_pages, int (*fits)(const struct page*, const struct page*)) {
  size_t count = 0;
  while (count < max_pages && first + count < WINDOW && fits(&pages[first + count], &pages[first])) ++count;
  return count;
}
static int is_mapped(const struct page* one, const struct page* first) {
  (void)first;
  return one->mapped;
}
static int was_ever(const struct page* one, const struct page* first) {
  (void)first;
  return one->ever;
}
static int is_alike(const struct page* one, const struct page* first) {
  return one->mapped && !one->file && one->rights == first->rights;
}

static void map_new(void) {
  const size_t count = 1024 + draw(draw(4) ? 2048 : 6000);
  if (mapped + count > most) return;
  void* const hint = !base || draw(2) ? NULL : (void*)(base + HALF * (size_t)PAGE);
  uint8_t* const got =
      mmap(hint, count * PAGE - draw(2), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (got == MAP_FAILED) fail("not mapped", count);
  if (!base) base = (uintptr_t)got - HALF * (size_t)PAGE;
  const size_t first = ((uintptr_t)got - base) / PAGE;
  if (first + count > WINDOW) fail("far away", first);
  for (size_t i = first; i < first + count; ++i)
    if (pages[i].mapped) fail("handed out twice", i);
  set(first, count, 0, 0, PROT_READ | PROT_WRITE);
}

static void unmap(size_t first, size_t count) {
  if (munmap(at(first), count * PAGE) != 0) fail("not unmapped", first);
  for (size_t i = first; i < first + count; ++i) {
    mapped -= pages[i].mapped;
    pages[i].mapped = 0;
  }
}

static void write_some(void) {
  const size_t first = some_page();
  const size_t count = run_of(first, 1 + draw(1500), is_mapped);
  for (size_t i = first; i < first + count; ++i) {
    check(i);
    if (pages[i].file || pages[i].rights != (PROT_READ | PROT_WRITE)) continue;
    pages[i].holds = next_number++;
    pages[i].maybe_zero = 0;
    fill(at(i), pages[i].holds);
  }
}

static void resize(void) {
  const size_t first = some_page();
  const size_t count = run_of(first, 1 + draw(3000), is_alike);
  if (count == 0) return;
  const size_t now = draw(3) ? count + 1 + draw(2000) : 1 + draw(count);
  if (now > count && mapped + now > most) return;
  const int flags = draw(3) ? MREMAP_MAYMOVE : 0;
  uint8_t* const got = mremap(at(first), count * PAGE, now * PAGE, flags);
  if (got == MAP_FAILED) {
    // There may be no space to grow in place; and the kernel requires a single VMA, which this may not be.
    if ((errno == ENOMEM && !flags) || errno == EFAULT) return;
    fail("not resized", first);
  }
  const size_t to = ((uintptr_t)got - base) / PAGE;
  if (to + now > WINDOW) fail("moved far away", to);
  if (!flags && to != first) fail("moved", first);
  const int rights = pages[first].rights;
  const size_t kept = now < count ? now : count;
  if (to != first) {
    for (size_t i = 0; i < now; ++i)
      if (pages[to + i].mapped) fail("moved onto something", to + i);
    for (size_t i = 0; i < kept; ++i) {
      set(to + i, 1, 0, 0, rights);
      pages[to + i] = pages[first + i];
    }
    for (size_t i = first; i < first + count; ++i) {
      mapped -= pages[i].mapped;
      pages[i].mapped = 0;
    }
  } else if (now < count) {
    for (size_t i = first + now; i < first + count; ++i) {
      mapped -= pages[i].mapped;
      pages[i].mapped = 0;
    }
  }
  if (now > count) set(to + count, now - count, 0, 0, rights);
}

static void advise(void) {
  static const int hints[] = {MADV_WILLNEED,   MADV_RANDOM,   MADV_SEQUENTIAL, MADV_NORMAL,
                              MADV_NOHUGEPAGE, MADV_HUGEPAGE, MADV_DONTDUMP};
  const size_t first = some_page();
  const size_t count = run_of(first, 1 + draw(2500), is_alike);
  if (count == 0) return;
  const int kind = (int)draw(3);
  const int advice = kind == 0 ? MADV_DONTNEED : kind == 1 ? MADV_FREE : hints[draw(7)];
  if (madvise(at(first), count * PAGE, advice) != 0) fail("not advised", first);
  if (kind == 2) return;
  for (size_t i = first; i < first + count; ++i)
    if (kind == 0)
      pages[i].holds = 0;
    else
      pages[i].maybe_zero = 1;
}

static void protect(void) {
  static const int rights[] = {PROT_NONE, PROT_READ, PROT_READ | PROT_WRITE, PROT_READ | PROT_WRITE};
  const size_t first = some_page();
  const size_t count = run_of(first, 1 + draw(draw(2) ? 10 : 2000), is_alike);
  if (count == 0) return;
  const int now = rights[draw(4)];
  if (mprotect(at(first), count * PAGE, now) != 0) fail("not protected", first);
  for (size_t i = first; i < first + count; ++i) pages[i].rights = (uint8_t)now;
}

static void map_over(void) {
  const size_t first = some_page();
  const int with_file = draw(3) == 0;
  const size_t max_pages = with_file ? 1 + draw(FILE_PAGES) : 1 + draw(2500);
  const size_t count = run_of(first, max_pages, was_ever);  // what was unmapped, too
  if (mapped + count > most) return;
  if (with_file) {
    if (mmap(at(first), count * PAGE, PROT_READ, MAP_FIXED | MAP_PRIVATE, -1, 0) != MAP_FAILED || errno != EBADF)
      fail("mapped from no file", first);
    for (size_t i = first; i < first + count; ++i) check(i);  // what fails changes nothing
    const int flags = MAP_FIXED | (draw(2) ? MAP_PRIVATE : MAP_SHARED);
    const size_t from = draw(FILE_PAGES - count + 1);
    if (mmap(at(first), count * PAGE, PROT_READ, flags, file, (off_t)(from * PAGE)) != (void*)at(first))
      fail("no file mapped over it", first);
    set(first, count, from + 1, 1, PROT_READ);
    return;
  }
  const int rights = draw(3) ? PROT_READ | PROT_WRITE : PROT_NONE;
  const int flags = MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS;
  if (mmap(at(first), count * PAGE, rights, flags, -1, 0) != (void*)at(first)) fail("not mapped over it", first);
  set(first, count, 0, 0, rights);
}

static void ask_other_things(void) {
  const size_t first = some_page();
  const size_t count = run_of(first, 1 + draw(600), is_alike);
  if (count == 0) return;
  unsigned char in_memory[601];
  if (mincore(at(first), count * PAGE, in_memory) != 0) fail("not told what is in memory", first);
  if (msync(at(first), count * PAGE, MS_SYNC) != 0) fail("not synchronised", first);
  if (posix_madvise(at(first), count * PAGE, POSIX_MADV_DONTNEED) != 0) fail("not advised", first);
  if (pages[first].rights & PROT_READ) {
    if (mlock(at(first), count * PAGE) != 0) fail("not locked", first);
    for (size_t i = first; i < first + count; ++i) check(i);
    if (munlock(at(first), count * PAGE) != 0) fail("not unlocked", first);
  }
  if (mremap(at(first), PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, at(first) + 1) != MAP_FAILED)
    fail("moved to no page", first);
}

static void* sweep(void* mib) {
  const size_t words = *(size_t*)mib / 4 * (1 << 20) / 8;
  uint64_t* const own = mmap(NULL, words * 8, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (uint64_t round = 0; !stop; ++round) {
    for (size_t i = 0; i < words; i += 8) {
      if (own[i] != (round ? i + round - 1 : 0)) {
        puts("the thread's own is something else");
        _exit(1);
      }
      own[i] = i + round;
    }
    sem_wait(&steps);
  }
  munmap(own, words * 8);
  return NULL;
}

int main(int count, char** arguments) {
  if (count != 4) return 2;
  size_t mib = (size_t)atol(arguments[1]);
  const size_t operations = (size_t)atol(arguments[2]);
  most = mib * 256;
  state = strtoull(arguments[3], NULL, 10);
  file = memfd_create("data", 0);
  uint64_t words[WORDS];
  for (size_t i = 0; i < FILE_PAGES; ++i) {
    fill(words, i + 1);
    if (write(file, words, PAGE) != PAGE) fail("no file", i);
  }
  next_number = FILE_PAGES + 1;
  sem_init(&steps, 0, 0);
  pthread_t thread;
  pthread_create(&thread, NULL, sweep, &mib);
  while (mapped < most / 2) map_new();
  for (total = 0; total < operations; ++total) {
    switch (draw(12)) {
      case 0:
      case 1:
        map_new();
        break;
      case 2: {
        const size_t first = some_page();
        unmap(first, run_of(first, 1 + draw(draw(2) ? 300 : 5000), is_mapped));
        break;
      }
      case 3:
        resize();
        break;
      case 4:
        advise();
        break;
      case 5:
        protect();
        break;
      case 6:
        map_over();
        break;
      case 7:
        ask_other_things();
        break;
      default:
        write_some();
    }
    if (mapped < most / 2) map_new();
    if (total % 20 == 0) sem_post(&steps);
    if (total % 100 == 99)
      for (size_t i = 0; i < WINDOW; ++i) check(i);
  }
  for (size_t i = 0; i < WINDOW; ++i) check(i);
  for (size_t i = 0; i < WINDOW; ++i)
    if (pages[i].mapped) unmap(i, run_of(i, WINDOW, is_mapped));
  stop = 1;
  sem_post(&steps);
  pthread_join(thread, NULL);
  printf("%zu operations\n", total);
  return 0;
}
