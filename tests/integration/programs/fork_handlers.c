// Fork handlers, some of them registered before the program starts. Each increments every 512th word.
#include "fork_handlers.h"

#include <pthread.h>

uint64_t* handled;
size_t handled_words;

static void visit(void) {
  for (size_t i = 0; i < handled_words; i += 512) ++handled[i];
}

void register_more(void) { pthread_atfork(visit, visit, visit); }

__attribute__((constructor)) static void early(void) { register_more(); }
