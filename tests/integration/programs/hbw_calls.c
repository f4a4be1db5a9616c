/* Tests every function of hbwmalloc.h and every result that memkind's manual documents, under one policy.
 *
 *   hbw_calls bind|bind_all|preferred|interleave FAST [fill]
 *
 * FAST: the nodes that are high bandwidth memory, nearest first: "0", "2,3", or "-" for none. With `fill` the
 * nodes are filled, too: only on a dedicated machine. Places of pages are queried from the kernel. Prints errors,
 * and ends with "all right". */
#define _GNU_SOURCE
#include <errno.h>
#include <hbwmalloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { k_page = 4096, k_some = 512, k_max_fast = 8 };
static const size_t k_mib = (size_t)1 << 20;
static const size_t k_sizes[] = {1, 24, 100, 5000, 70000, 600000, 1200000, 3500000, 20000000};
enum { k_size_count = sizeof k_sizes / sizeof *k_sizes };

static int g_wrong, g_fast[k_max_fast], g_fast_count;
static hbw_policy_t g_policy;

static void expect_at(int line, int holds, const char* what) {
  if (holds) return;
  printf("not so: %s (line %d, errno %d)\n", what, line, errno);
  ++g_wrong;
}
#define EXPECT(condition) expect_at(__LINE__, (condition) != 0, #condition)

static int is_fast(int node) {
  for (int i = 0; i < g_fast_count; ++i)
    if (g_fast[i] == node) return 1;
  return 0;
}

/* Returns the page's node by the kernel; below 0: the page is absent. */
static int node_of(const void* address) {
  void* page = (void*)((uintptr_t)address & ~(uintptr_t)(k_page - 1));
  int node = -1;
  return syscall(SYS_move_pages, 0, 1L, &page, NULL, &node, 0) == 0 ? node : -1000;
}

/* Returns the nodes of at most k_some successive pages. */
static void nodes_of(const char* first, size_t count, int* nodes) {
  void* pages[k_some];
  for (size_t i = 0; i < count; ++i) pages[i] = (char*)((uintptr_t)first & ~(uintptr_t)(k_page - 1)) + i * k_page;
  EXPECT(syscall(SYS_move_pages, 0, count, pages, NULL, nodes, 0) == 0);
  /* A page that the kernel itself is moving is absent for a moment; a read waits for it. */
  for (size_t i = 0; i < count; ++i)
    for (int again = 0; nodes[i] == -ENOENT && again < 1000; ++again) {
      (void)*(volatile const char*)pages[i];
      nodes[i] = node_of(pages[i]);
    }
}

/* Returns the number of pages that a block of this size and address overlaps. */
static size_t pages_of(const char* block, size_t size) {
  return ((uintptr_t)block % k_page + size + k_page - 1) / k_page;
}

/* Checks that all pages are resident and placed by the policy, while the nearest node has capacity. */
static void expect_resides(int line, const char* block, size_t size) {
  const size_t count = pages_of(block, size);
  int before = -1;
  for (size_t at = 0; at < count; at += k_some) {
    int nodes[k_some];
    const size_t some = count - at < k_some ? count - at : k_some;
    nodes_of(block + at * k_page, some, nodes);
    for (size_t i = 0; i < some; ++i) {
      const int node = nodes[i];
      int right = 1;
      if (g_fast_count > 0)
        right =
            g_policy == HBW_POLICY_BIND || g_policy == HBW_POLICY_PREFERRED ? node == g_fast[0] : is_fast(node);
      /* Adjacent interleaved pages are on different nodes. */
      if (g_policy == HBW_POLICY_INTERLEAVE && g_fast_count > 1 && node == before) right = 0;
      before = node;
      if (right) continue;
      printf("page %zu of %zu bytes is on node %d\n", at + i, size, node);
      expect_at(line, 0, "residence");
      return;
    }
  }
}

static int has_memory(void) { return g_fast_count > 0 || g_policy == HBW_POLICY_PREFERRED; }

static void policies(void) {
  EXPECT(hbw_get_policy() == HBW_POLICY_PREFERRED);
  EXPECT(hbw_set_policy((hbw_policy_t)0) == EINVAL);
  EXPECT(hbw_set_policy((hbw_policy_t)5) == EINVAL);
  EXPECT(hbw_get_policy() == HBW_POLICY_PREFERRED);
  EXPECT(hbw_set_policy(g_policy) == 0);
  EXPECT(hbw_get_policy() == g_policy);
  EXPECT(hbw_set_policy(g_policy) == EPERM);
  EXPECT(hbw_set_policy(HBW_POLICY_PREFERRED) == EPERM);
  EXPECT(hbw_set_policy((hbw_policy_t)-1) == EINVAL);
  EXPECT(hbw_get_policy() == g_policy);
}

static void no_memory(void) {
  errno = 0;
  EXPECT(hbw_malloc(100) == NULL && errno == ENOMEM);
  errno = 0;
  EXPECT(hbw_malloc(100 * k_mib) == NULL && errno == ENOMEM);
  errno = 0;
  EXPECT(hbw_calloc(10, 10) == NULL && errno == ENOMEM);
  errno = 0;
  EXPECT(hbw_realloc(NULL, 100) == NULL && errno == ENOMEM);
  void* block = NULL;
  EXPECT(hbw_posix_memalign(&block, 64, 100) == ENOMEM);
}

static void nothing(void) {
  EXPECT(hbw_malloc(0) == NULL);
  EXPECT(hbw_calloc(0, 8) == NULL && hbw_calloc(8, 0) == NULL);
  EXPECT(hbw_realloc(NULL, 0) == NULL);
  hbw_free(NULL);
  EXPECT(hbw_malloc_usable_size(NULL) == 0);
  volatile size_t most = SIZE_MAX;
  errno = 0;
  EXPECT(hbw_calloc(most / 2, 3) == NULL && errno == ENOMEM);
  errno = 0;
  EXPECT(hbw_malloc(most) == NULL && errno == ENOMEM);
  errno = 0;
  EXPECT(hbw_malloc(most / 2) == NULL && errno == ENOMEM);
}

static void blocks(void) {
  for (int i = 0; i < k_size_count; ++i) {
    const size_t size = k_sizes[i];
    char* block = hbw_malloc(size);
    EXPECT(block && (uintptr_t)block % 16 == 0);
    EXPECT(hbw_malloc_usable_size(block) >= size);
    memset(block, 'a', size);
    expect_resides(__LINE__, block, size);
    EXPECT(hbw_verify_memory_region(block, size, 0) == (g_fast_count > 0 ? 0 : -1));

    char* zeros = hbw_calloc(size, 1);
    EXPECT(zeros != NULL);
    size_t at = 0;
    while (at < size && zeros[at] == 0) ++at;
    EXPECT(at == size);
    memset(zeros, 'z', size);
    expect_resides(__LINE__, zeros, size);
    hbw_free(zeros);

    /* Larger, smaller, and smaller than half. */
    for (int k = 0; k < k_size_count; ++k) {
      char* const moved = hbw_realloc(block, k_sizes[k] + 1);
      EXPECT(moved != NULL && moved[0] == 'a');
      memset(moved, 'a', k_sizes[k] + 1);
      block = moved;
    }
    block[0] = 'b', block[49] = 'c';
    block = hbw_realloc(block, 50);
    EXPECT(block && block[0] == 'b' && block[49] == 'c');
    EXPECT(hbw_realloc(block, 0) == NULL);
  }
}

/* The process never has 640 MiB both in large and in small blocks, because each is freed. */
static void given_back(void) {
  struct rusage before, after;
  getrusage(RUSAGE_SELF, &before);
  for (size_t i = 0; i < 16000; ++i) {
    const size_t size = i < 40 ? 16 * k_mib : 40 << 10;
    char* const block = hbw_malloc(size);
    EXPECT(block && memset(block, 1, size) == block);
    hbw_free(block);
  }
  getrusage(RUSAGE_SELF, &after);
  EXPECT(after.ru_maxrss - before.ru_maxrss < 160 << 10);
}

static void alignments(void) {
  void* block = &g_wrong;
  EXPECT(hbw_posix_memalign(&block, 3, 100) == EINVAL);
  EXPECT(hbw_posix_memalign(&block, 4, 100) == EINVAL);
  EXPECT(hbw_posix_memalign(&block, 24, 100) == EINVAL);
  EXPECT(hbw_posix_memalign(&block, 0, 100) == EINVAL);
  EXPECT(block == &g_wrong);
  EXPECT(hbw_posix_memalign(&block, 64, 0) == 0 && block == NULL);
  EXPECT(hbw_posix_memalign_psize(&block, 64, 100, (hbw_pagesize_t)0) == EINVAL);
  EXPECT(hbw_posix_memalign_psize(&block, 64, 100, HBW_PAGESIZE_MAX_VALUE) == EINVAL);
  EXPECT(hbw_posix_memalign_psize(&block, 12, 100, HBW_PAGESIZE_4KB) == EINVAL);
  EXPECT(hbw_posix_memalign_psize(&block, 64, 100, HBW_PAGESIZE_1GB_STRICT) == EINVAL);
  EXPECT(hbw_posix_memalign_psize(&block, 64, 0, HBW_PAGESIZE_4KB) == 0 && block == NULL);
  if (g_policy == HBW_POLICY_INTERLEAVE) {
    EXPECT(hbw_posix_memalign_psize(&block, 64, 100, HBW_PAGESIZE_2MB) == EINVAL);
    EXPECT(hbw_posix_memalign_psize(&block, 64, 100, HBW_PAGESIZE_1GB) == EINVAL);
    EXPECT(hbw_posix_memalign_psize(&block, 64, (size_t)1 << 30, HBW_PAGESIZE_1GB_STRICT) == EINVAL);
  }
  if (!has_memory()) return;
  for (size_t alignment = 8; alignment <= 4 * k_mib; alignment *= 2)
    for (int i = 0; i < k_size_count; i += 3)
      for (int psize = 0; psize < 2; ++psize) {
        const int answer = psize ? hbw_posix_memalign_psize(&block, alignment, k_sizes[i], HBW_PAGESIZE_4KB)
                                 : hbw_posix_memalign(&block, alignment, k_sizes[i]);
        EXPECT(answer == 0 && (uintptr_t)block % alignment == 0);
        memset(block, 1, k_sizes[i]);
        expect_resides(__LINE__, block, k_sizes[i]);
        EXPECT(hbw_malloc_usable_size(block) >= k_sizes[i]);
        hbw_free(block);
      }
}

static long pool(int node) {
  char path[120];
  snprintf(path, sizeof path, "/sys/devices/system/node/node%d/hugepages/hugepages-2048kB/free_hugepages", node);
  FILE* const file = fopen(path, "r");
  long pages = 0;
  if (!file || fscanf(file, "%ld", &pages) != 1) pages = 0;
  if (file) fclose(file);
  return pages;
}

/* Hugetlb pages are on the node, or the allocation fails. */
static void huge_pages(void) {
  if (g_policy == HBW_POLICY_INTERLEAVE) return;
  const int nearest = g_fast_count > 0 ? g_fast[0] : 0;
  const long there = pool(nearest);
  const long anywhere = pool(0) + pool(1);
  void* block = NULL;
  const int answer = hbw_posix_memalign_psize(&block, 64, 3 * k_mib, HBW_PAGESIZE_2MB);
  EXPECT(answer == ((g_policy == HBW_POLICY_PREFERRED ? anywhere : there) >= 2 ? 0 : ENOMEM));
  void* other = NULL;
  EXPECT(hbw_posix_memalign_psize(&other, 64, (size_t)1 << 40, HBW_PAGESIZE_2MB) == ENOMEM);
  EXPECT(hbw_posix_memalign_psize(&other, 64, (size_t)1 << 40, HBW_PAGESIZE_1GB_STRICT) == ENOMEM);
  EXPECT(hbw_posix_memalign_psize(&other, 64, ((size_t)1 << 40) + 1, HBW_PAGESIZE_1GB) == ENOMEM);
  printf("huge pages: %ld\n", there);
  if (answer != 0) return;
  memset(block, 1, 4 * k_mib);
  EXPECT(hbw_malloc_usable_size(block) == 4 * k_mib);
  if (there < 3) return hbw_free(block);
  expect_resides(__LINE__, block, 4 * k_mib);
  EXPECT(hbw_posix_memalign_psize(&other, 4 * k_mib, k_mib, HBW_PAGESIZE_2MB) == 0);
  EXPECT((uintptr_t)other % (4 * k_mib) == 0);
  EXPECT(pool(nearest) == there - 3);
  hbw_free(other);
  EXPECT(pool(nearest) == there - 2);
  hbw_free(block);
  EXPECT(pool(nearest) == there);
}

static void regions(void) {
  char* const block = mmap(NULL, 4 * k_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT(hbw_verify_memory_region(NULL, 100, 0) == EINVAL);
  EXPECT(hbw_verify_memory_region(block, 0, 0) == EINVAL);
  EXPECT(hbw_verify_memory_region(block, k_page, 2) == EINVAL);
  EXPECT(hbw_verify_memory_region(block, k_page, HBW_TOUCH_PAGES | 4) == EINVAL);
  EXPECT(hbw_verify_memory_region(block, 4 * k_page, 0) == -1); /* nothing is there */
  block[k_page] = 7;
  EXPECT(hbw_verify_memory_region(block, 4 * k_page, 0) == -1);
  EXPECT(hbw_verify_memory_region(block + k_page + 5, 10, 0) == (is_fast(node_of(block + k_page)) ? 0 : -1));
  const int touched = hbw_verify_memory_region(block, 4 * k_page, HBW_TOUCH_PAGES);
  int all = 1;
  for (int page = 0; page < 4; ++page) {
    const int node = node_of(block + page * k_page);
    EXPECT(node >= 0);
    all = all && is_fast(node);
  }
  EXPECT(touched == (all ? 0 : -1));
  EXPECT(block[0] == 0 && block[k_page] == 7);
  EXPECT(munmap(block + 2 * k_page, k_page) == 0);
  EXPECT(hbw_verify_memory_region(block, 4 * k_page, 0) == EFAULT);
  EXPECT(hbw_verify_memory_region(block, 4 * k_page, HBW_TOUCH_PAGES) == EFAULT);
  EXPECT(mprotect(block, k_page, PROT_NONE) == 0);
  EXPECT(hbw_verify_memory_region(block, k_page, HBW_TOUCH_PAGES) == EFAULT);
  EXPECT(hbw_verify_memory_region((void*)(uintptr_t)0xfffffffffffff000, 2 * k_page, 0) == EFAULT);
}

static void* work(void* unused) {
  char* slots[100] = {0};
  unsigned random = 1;
  for (int i = 0; i < 20000; ++i) {
    random = random * 1103515245 + 12345;
    char** const slot = &slots[random / 65536 % 100];
    if (*slot && **slot != 'x') unused = &g_wrong;
    hbw_free(*slot);
    *slot = hbw_malloc(1 + random / 1024 % 3000);
    if (!*slot) return &g_wrong;
    **slot = 'x';
  }
  for (int i = 0; i < 100; ++i) hbw_free(slots[i]);
  return unused;
}

static void threads_and_children(void) {
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, work, NULL);
  for (int i = 0; i < 10; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(300);
      char* const large = hbw_malloc(5 * k_mib);
      if (large) memset(large, 1, 5 * k_mib);
      hbw_free(large);
      _exit(work(NULL) || !large);
    }
    int status = -1;
    EXPECT(waitpid(child, &status, 0) == child && status == 0);
  }
  for (int i = 0; i < 4; ++i) {
    void* wrong = NULL;
    pthread_join(threads[i], &wrong);
    EXPECT(wrong == NULL);
  }
}

/* Allocates until failure, or `most` bytes; blocks are linked by their first words. */
static size_t take(size_t size, size_t most, void** list, int first_node, size_t* on_first) {
  size_t sum = 0;
  int has_left = 0;
  *on_first = 0;
  while (sum < most) {
    errno = 0;
    void** const block = hbw_malloc(size);
    if (!block) {
      EXPECT(errno == ENOMEM);
      break;
    }
    const size_t count = pages_of((char*)block, size);
    for (size_t at = 0; at < count; at += k_some) {
      int nodes[k_some];
      const size_t some = count - at < k_some ? count - at : k_some;
      nodes_of((char*)block + at * k_page, some, nodes);
      for (size_t i = 0; i < some; ++i) {
        if (nodes[i] == first_node) *on_first += k_page;
        if (g_policy == HBW_POLICY_BIND) EXPECT(nodes[i] == first_node);
        if (g_policy == HBW_POLICY_BIND_ALL || g_policy == HBW_POLICY_INTERLEAVE) EXPECT(is_fast(nodes[i]));
        has_left |= nodes[i] != first_node;
      }
    }
    *block = *list;
    *list = block;
    sum += size;
  }
  printf("%zu MiB in blocks of %zu KiB, %zu MiB of it on node %d%s\n", sum / k_mib, size >> 10, *on_first / k_mib,
         first_node, has_left ? ", others elsewhere" : "");
  return sum;
}

static void give(void* list) {
  while (list) {
    void* const next = *(void**)list;
    hbw_free(list);
    list = next;
  }
}

/* Twice, with large blocks and with small ones: freed memory is reused. */
static void fill(void) {
  static const size_t sizes[] = {8 << 20, 50000};
  for (int i = 0; i < 4; ++i) {
    void* list = NULL;
    size_t on_first = 0;
    const size_t most = g_policy == HBW_POLICY_PREFERRED ? 260 * k_mib : 2000 * k_mib;
    const size_t sum = take(sizes[i % 2], most, &list, g_fast[0], &on_first);
    EXPECT(on_first > 40 * k_mib);
    if (g_policy == HBW_POLICY_PREFERRED) EXPECT(sum >= most && on_first < sum);
    if (g_policy != HBW_POLICY_PREFERRED) EXPECT(sum < most);
    give(list);
  }
}

int main(int count, char** words) {
  if (count < 3) return 2;
  g_policy = strcmp(words[1], "bind") == 0        ? HBW_POLICY_BIND
             : strcmp(words[1], "bind_all") == 0  ? HBW_POLICY_BIND_ALL
             : strcmp(words[1], "preferred") == 0 ? HBW_POLICY_PREFERRED
                                                  : HBW_POLICY_INTERLEAVE;
  if (words[2][0] != '-')
    for (char* at = strtok(words[2], ","); at && g_fast_count < k_max_fast; at = strtok(NULL, ","))
      g_fast[g_fast_count++] = atoi(at);
  EXPECT(hbw_check_available() == (g_fast_count > 0 ? 0 : ENODEV));
  policies();
  nothing();
  alignments();
  regions();
  if (has_memory()) {
    blocks();
    huge_pages();
    if (!getenv("HBW_CALLS_PLACES")) { /* else only where data are */
      given_back();
      threads_and_children();
    }
  } else {
    no_memory();
  }
  if (count > 3) fill();
  puts(g_wrong == 0 ? "all right" : "wrong");
  return g_wrong != 0;
}
