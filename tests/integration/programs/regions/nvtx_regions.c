/* A main loop with all kinds of NVTX ranges: nested, started, in a domain, registered, wide. With an argument,
   another thread has ranges concurrently, and processes that are forked within a range continue
   with theirs. */
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "work.h"

static nvtxEventAttributes_t named(int type, nvtxMessageValue_t message) {
  nvtxEventAttributes_t what;
  memset(&what, 0, sizeof what);
  what.version = NVTX_VERSION;
  what.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  what.messageType = type;
  what.message = message;
  return what;
}

static atomic_int g_over;

static void* elsewhere(void* unused) {
  while (!g_over) {
    nvtxRangePushA("elsewhere");
    nvtxRangeEnd(nvtxRangeStartA("started elsewhere"));
    nvtxRangePop();
    nvtxRangePop();
    usleep(50);
  }
  return unused;
}

/* The child's ranges, and its exit status: how many levels were wrong. */
static int of_child(void) {
  const pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < 100; ++i) {
      nvtxRangePushA("child");
      nvtxRangePop();
    }
    _exit(0);
  }
  int status = 1;
  waitpid(child, &status, 0);
  return status;
}

int main(int argc, char** argv) {
  (void)argv;
  const long count = 1 << 16;
  double* const data = calloc(count, sizeof *data);
  const nvtxDomainHandle_t domain = nvtxDomainCreateA("solver");
  nvtxMessageValue_t message;
  message.registered = nvtxDomainRegisterStringA(domain, "smooth");
  const nvtxEventAttributes_t smooth = named(NVTX_MESSAGE_TYPE_REGISTERED, message);
  message.unicode = L"r\u00e9duction";
  const nvtxEventAttributes_t reduction = named(NVTX_MESSAGE_TYPE_UNICODE, message);
  nvtxRangePushA("setup");
  work(data, count);
  nvtxRangePop();
  pthread_t thread;
  int wrong = 0;
  if (argc > 1) pthread_create(&thread, NULL, elsewhere, NULL);
  for (int step = 0; step < 6; ++step) {
    nvtxRangePushA("step");
    if (argc > 1 && step > 1) wrong += of_child(); /* which regions are phases is known then */
    const nvtxRangeId_t exchange = nvtxRangeStartA("exchange");
    work(data, count);
    nvtxRangeEnd(exchange);
    nvtxDomainRangePushEx(domain, &smooth);
    work(data, count);
    nvtxDomainRangePop(domain);
    nvtxRangePushEx(&reduction);
    work(data, count);
    nvtxRangePop();
    nvtxMarkA("not a range");
    nvtxRangePop();
  }
  nvtxDomainDestroy(domain);
  g_over = 1;
  if (argc > 1) pthread_join(thread, NULL);
  printf("%d %d\n", data[0] > 0, wrong);
  free(data);
  return 0;
}
