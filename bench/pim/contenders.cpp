// Loads the mallocs of this machine, and names the allocators that pim_bench compares. See contenders.hpp.
#include "contenders.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>

namespace terrace::pim::bench {
namespace {

std::optional<Malloc> load(const char* library, const char* take, const char* give) {
  void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return std::nullopt;
  const Malloc functions{reinterpret_cast<void* (*)(std::size_t)>(dlsym(handle, take)),
                         reinterpret_cast<void (*)(void*)>(dlsym(handle, give))};
  if (functions.take == nullptr || functions.give == nullptr) return std::nullopt;
  return functions;
}

}  // namespace

std::string name_of(Contender contender) {
  switch (contender) {
    case Contender::terrace:
      return "terrace";
    case Contender::paper:
      return "paper";
    case Contender::paper_all:
      return "paper-all";
    case Contender::glibc:
      return "glibc";
    case Contender::jemalloc:
      return "jemalloc";
    case Contender::mimalloc:
      return "mimalloc";
    case Contender::apart:
      return "apart";
    case Contender::control:
      break;
  }
  return "control";
}

const std::optional<Malloc>& library_of(Contender contender) {
  static const auto glibc = load("libc.so.6", "malloc", "free");
  static const auto jemalloc = load("libjemalloc.so.2", "malloc", "free");
  static const auto mimalloc = load("libmimalloc.so.2", "mi_malloc", "mi_free");
  static const std::optional<Malloc> none;
  switch (contender) {
    case Contender::glibc:
      return glibc;
    case Contender::jemalloc:
      return jemalloc;
    case Contender::mimalloc:
      return mimalloc;
    default:
      return none;
  }
}

std::vector<Contender> present(std::vector<Contender> contenders) {
  std::erase_if(contenders, [](Contender contender) {
    const bool is_library =
        contender == Contender::glibc || contender == Contender::jemalloc || contender == Contender::mimalloc;
    return is_library && !library_of(contender);
  });
  return contenders;
}

void make_room_for_libraries(char** arguments) {
  const std::string setting = "glibc.rtld.optional_static_tls=16384";
  const char* set = std::getenv("GLIBC_TUNABLES");
  const std::string before = set == nullptr ? "" : set;
  if (before.find(setting) != std::string::npos) return;
  setenv("GLIBC_TUNABLES", (before.empty() ? setting : before + ":" + setting).c_str(), 1);
  execv("/proc/self/exe", arguments);  // where that fails, the library is reported as absent
}

}  // namespace terrace::pim::bench
