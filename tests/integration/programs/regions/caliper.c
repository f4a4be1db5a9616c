/* A stub of Caliper's C functions, by the names and types of cali.h. Counts open regions, and prints
   at the end how often it was called and whether all regions were closed in order, as
   Caliper requires. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const char* g_open[64];
static int g_depth, g_begun, g_wrong;

static void begin(const char* name) {
  ++g_begun;
  if (g_depth < 64) g_open[g_depth++] = name;
}
static void end(const char* name) {
  if (g_depth == 0 || strcmp(g_open[--g_depth], name) != 0) ++g_wrong;
}

#define SEEN __attribute__((visibility("default")))
SEEN uint64_t cali_function_attr_id = 7;
SEEN const char* cali_attribute_name(uint64_t attribute) { return attribute == 9 ? "iteration#main" : "function"; }
SEEN void cali_begin_region(const char* name) { begin(name); }
SEEN void cali_end_region(const char* name) { end(name); }
SEEN void cali_begin_int(uint64_t attribute, int value) {
  (void)value;
  begin(cali_attribute_name(attribute));
}
SEEN void cali_begin_string(uint64_t attribute, const char* value) {
  (void)attribute;
  begin(value);
}
SEEN void cali_end(uint64_t attribute) {
  (void)attribute;
  if (g_depth == 0)
    ++g_wrong;
  else
    --g_depth;
}
/* A function of the interface that calls another one. */
SEEN void cali_begin_string_byname(const char* attribute, const char* value) {
  (void)attribute;
  cali_begin_region(value);
}
SEEN void cali_end_byname(const char* attribute) { cali_end(strlen(attribute) > 0 ? 1 : 0); }

/* cali::Function: its constructor and destructor. */
SEEN void _ZN4cali8FunctionC1EPKc(void* self, const char* name) {
  *(const char**)self = name;
  begin(name);
}
SEEN void _ZN4cali8FunctionD1Ev(void* self) { end(*(const char**)self); }

__attribute__((destructor)) static void tell(void) {
  printf("begun %d open %d wrong %d\n", g_begun, g_depth, g_wrong);
}
