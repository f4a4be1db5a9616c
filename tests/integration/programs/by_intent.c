/* Allocates by the given method and prints the nodes of its pages, as the kernel reports them.
 *
 *   by_intent malloc MIB            malloc
 *   by_intent calloc MIB            calloc, of which every second page is only read
 *   by_intent grow MIB              realloc from half the size; contents must stay
 *   by_intent fork MIB              a child of fork allocates
 *   by_intent files MIB             malloc, after closing all descriptors that it does not own
 *   by_intent threads MIB           four threads, each with a block of its own
 *   by_intent alloc MIB INTENT      terrace_alloc
 *   by_intent apply MIB INTENT      terrace_apply to a mapping with a resident first half
 *   by_intent thread MIB INTENT     terrace_intent, then malloc
 *   by_intent again MIB INTENT      terrace_alloc and terrace_free, ten times
 *   by_intent small MIB [INTENT]    blocks of 16 to 2,000 bytes, by the intent or the run's; for each node a line
 *                                   "small on node N: BLOCKS"
 *
 * It prints lines "node N: PAGES" for successive pages, the results of the calls, and that of
 * terrace_where(). */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <terrace/terrace.h>
#include <unistd.h>

enum { k_page = 4096, k_some = 512 };

static void touch(char* block, size_t size) {
  for (size_t at = 0; at < size; at += k_page) block[at] = (char)(at / k_page + 1);
}

static void check(const char* block, size_t size) {
  for (size_t at = 0; at < size; at += k_page)
    if (block[at] != (char)(at / k_page + 1)) {
      printf("page %zu has lost its content\n", at / k_page);
      exit(3);
    }
}

static void say(char* block, size_t size) {
  char* const first = (char*)(((size_t)block + k_page - 1) & ~(size_t)(k_page - 1));
  const size_t pages = (size_t)(block + size - first) / k_page;
  long run = 0;
  int last = -1000;
  for (size_t at = 0; at < pages; at += k_some) {
    void* addresses[k_some];
    int nodes[k_some];
    const size_t count = pages - at < k_some ? pages - at : k_some;
    for (size_t i = 0; i < count; ++i) addresses[i] = first + (at + i) * k_page;
    if (syscall(SYS_move_pages, 0, count, addresses, NULL, nodes, 0) != 0) {
      perror("move_pages");
      exit(4);
    }
    for (size_t i = 0; i < count; ++i) {
      if (nodes[i] != last && run > 0) printf("node %d: %ld\n", last, run);
      if (nodes[i] != last) run = 0;
      last = nodes[i];
      ++run;
    }
  }
  printf("node %d: %ld\n", last, run);
  const char* const where = terrace_where(first);
  printf("where: %s\n", where ? where : "unknown");
  fflush(stdout);
}

static void* block_of_a_thread(void* size) {
  const size_t bytes = *(size_t*)size;
  char* const block = malloc(bytes);
  touch(block, bytes);
  check(block, bytes);
  return block;
}

/* Blocks within one page; linked, so that nothing else is allocated. */
static int small(size_t bytes, const char* intent) {
  enum { k_nodes = 8 };
  struct Link {
    struct Link* next;
    unsigned size;
  }* list = NULL;
  if (intent && terrace_intent(intent) != 0) return 6;
  unsigned random = 1;
  for (size_t sum = 0; sum < bytes; sum += list->size) {
    random = random * 1103515245 + 12345;
    const unsigned size = 16 + random / 65536 % 1985;
    struct Link* const link = malloc(size);
    if (!link) return 7;
    memset(link, 0x5a, size);
    link->size = size;
    link->next = list;
    list = link;
  }
  long on[k_nodes] = {0};
  long unknown = 0;
  for (struct Link* link = list; link; link = link->next) {
    void* page = (void*)((size_t)link & ~(size_t)(k_page - 1));
    int node = -1;
    if (syscall(SYS_move_pages, 0, 1L, &page, NULL, &node, 0) != 0 || node < 0 || node >= k_nodes) return 8;
    ++on[node];
    unknown += terrace_where(link) == NULL;
  }
  for (int node = 0; node < k_nodes; ++node)
    if (on[node] > 0) printf("small on node %d: %ld\n", node, on[node]);
  printf("unknown: %ld\n", unknown);
  while (list) {
    struct Link* const next = list->next;
    for (unsigned at = sizeof *list; at < list->size; ++at)
      if (((unsigned char*)list)[at] != 0x5a) return 9;
    free(list);
    list = next;
  }
  return 0;
}

int main(int count, char** words) {
  if (count < 3) return 2;
  const char* const mode = words[1];
  size_t size = (size_t)atol(words[2]) << 20;
  const char* const intent = count > 3 ? words[3] : NULL;
  char* block = NULL;
  if (strcmp(mode, "small") == 0) return small(size, intent);
  if (strcmp(mode, "malloc") == 0) {
    block = malloc(size);
    touch(block, size);
  } else if (strcmp(mode, "calloc") == 0) {
    block = calloc(size / 8, 8);
    long sum = 0;
    for (size_t at = 0; at < size; at += k_page) sum += block[at];
    printf("sum: %ld\n", sum);
    touch(block, size);
  } else if (strcmp(mode, "grow") == 0) {
    block = malloc(size / 2);
    touch(block, size / 2);
    block = realloc(block, size);
    check(block, size / 2);
    touch(block, size);
  } else if (strcmp(mode, "fork") == 0) {
    char* const shared = malloc(size);
    touch(shared, size / 2);
    const pid_t child = fork();
    if (child == 0) {
      check(shared, size / 2);
      touch(shared, size);
      block = malloc(size);
      touch(block, size);
      say(block, size);
      free(block);
      free(shared);
      fflush(stdout);
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    printf("child: %d\n", status);
    block = shared;
    touch(block, size);
  } else if (strcmp(mode, "files") == 0) {
    block = malloc(size);
    touch(block, size / 2);
    closefrom(3);
    touch(block, size);
    check(block, size);
    char* const other = malloc(size);
    touch(other, size);
    free(other);
  } else if (strcmp(mode, "threads") == 0) {
    pthread_t threads[4];
    for (int i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, block_of_a_thread, &size);
    for (int i = 0; i < 4; ++i) {
      void* made = NULL;
      pthread_join(threads[i], &made);
      if (i > 0) free(made);
      if (i == 0) block = made;
    }
  } else if (strcmp(mode, "alloc") == 0) {
    block = terrace_alloc(size, intent);
    printf("alloc: %s; %s\n", block ? "memory" : "none", terrace_last_error());
    if (!block) return 0;
    say(block, size); /* it is there before it is touched */
    touch(block, size);
  } else if (strcmp(mode, "apply") == 0) {
    block = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    touch(block, size / 2);
    const int status = terrace_apply(block + 1, size - 2, intent);
    printf("apply: %d; %s\n", status, terrace_last_error());
    check(block, size / 2);
    printf("nothing: %d\n", terrace_apply(block + 1, k_page, intent));
    munmap(block + size - 2 * k_page, k_page);
    printf("hole: %d; %s\n", terrace_apply(block, size, intent), terrace_last_error());
    size -= 2 * k_page;
    touch(block, size);
  } else if (strcmp(mode, "thread") == 0) {
    const int status = terrace_intent(intent);
    printf("intent: %d; %s\n", status, terrace_last_error());
    block = malloc(size);
    touch(block, size);
    printf("none: %d\n", terrace_intent(NULL));
  } else if (strcmp(mode, "again") == 0) {
    for (int i = 0; i < 10; ++i) {
      terrace_free(block);
      block = terrace_alloc(size, intent);
      for (size_t at = 0; at < size; at += k_page)
        if (block[at] != 0) return 5;
      touch(block, size);
    }
  } else {
    return 2;
  }
  check(block, size);
  say(block, size);
  if (strcmp(mode, "apply") != 0) terrace_free(block);
  return 0;
}
