/* A main loop in NVTX ranges of every sort: nested, started, in a domain, registered, wide. */
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

int main(void) {
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
  for (int step = 0; step < 6; ++step) {
    nvtxRangePushA("step");
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
  printf("%g\n", data[0] > 0 ? 1.0 : 0.0);
  free(data);
  return 0;
}
