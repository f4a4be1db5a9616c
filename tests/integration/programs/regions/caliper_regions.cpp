// All kinds of Caliper annotations in a main loop. With an argument it has explicit loop markers, too.
#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>

extern "C" {
#include "work.h"

extern std::uint64_t cali_function_attr_id;
void cali_begin_region(const char* name);
void cali_end_region(const char* name);
void cali_begin_int(std::uint64_t attribute, int value);
void cali_begin_string(std::uint64_t attribute, const char* value);
void cali_end(std::uint64_t attribute);
void cali_begin_string_byname(const char* attribute, const char* value);
void cali_end_byname(const char* attribute);
}

namespace cali {
class Function {
 public:
  explicit Function(const char* name);
  ~Function();

 private:
  const char* name_;
};
}  // namespace cali

namespace {

constexpr long k_count = 1 << 16;
double* g_data = nullptr;

void advance() {
  const cali::Function function("advance");
  work(g_data, k_count);
}

void mark(const char* marker, const char* name) {
  const auto call = reinterpret_cast<void (*)(const char*)>(dlsym(RTLD_DEFAULT, marker));
  if (call) call(name);
}

}  // namespace

int main(int count, char**) {
  constexpr std::uint64_t k_iteration = 9;
  g_data = static_cast<double*>(std::calloc(k_count, sizeof *g_data));
  cali_begin_region("main");
  for (int step = 0; step < 8; ++step) {
    if (count > 1 && step == 4) mark("terrace_loop_begin", "own");
    if (count > 1 && step >= 4) mark("terrace_phase", "own phase");
    cali_begin_int(k_iteration, step);
    advance();
    cali_begin_string(cali_function_attr_id, "exchange");
    work(g_data, k_count);
    cali_end(cali_function_attr_id);
    cali_begin_string_byname("stage", "re@duce");
    work(g_data, k_count);
    cali_end_byname("stage");
    cali_end(k_iteration);
  }
  cali_end_region("main");
  std::free(g_data);
  return 0;
}
