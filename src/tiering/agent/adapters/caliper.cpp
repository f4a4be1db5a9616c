// SPDX-License-Identifier: Apache-2.0
// Adapter for Caliper: interposes the annotation functions of its C interface and of the C++ classes behind its
// macros (caliper/cali.h, cali_macros.h, Annotation.h), and forwards each call to Caliper. Regions, functions,
// loops and their iterations become phases. Limit: programs with statically linked Caliper are not seen.
#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

#include "agent/adapters/regions.hpp"
#include "agent/lifecycle/in_process.hpp"
#include "agent/linking/caller_functions.hpp"

namespace terrace::agent {

namespace {

constexpr RegionAdapter k_caliper{"Caliper regions"};

// Depth of calls inside Caliper: nested calls of its own functions are no regions.
thread_local int t_call_depth __attribute__((tls_model("initial-exec"))) = 0;

class ScopedCall {
 public:
  ScopedCall() { ++t_call_depth; }
  ~ScopedCall() { --t_call_depth; }
  ScopedCall(const ScopedCall&) = delete;
  ScopedCall& operator=(const ScopedCall&) = delete;
};

// Key spaces of regions. An end by name or attribute ends the innermost region of that key. Keys of different
// spaces are distinct.
enum class KeySpace : std::uint64_t { name = 1, attribute, attribute_name, object };

std::uint64_t key_of(KeySpace what, std::uint64_t which) {
  return which * 4 + static_cast<std::uint64_t>(what) - 1;
}

std::uint64_t key_of(KeySpace what, const char* text) {
  std::uint64_t hash = 0xcbf29ce484222325U;  // FNV-1a
  for (; text && *text; ++text) hash = (hash ^ static_cast<unsigned char>(*text)) * 0x100000001b3U;
  return key_of(what, hash);
}

void begin_region(std::uint64_t key, const char* name) {
  if (t_call_depth == 0 && name) k_caliper.begin(key, name);
}
void end_region(std::uint64_t key) {
  if (t_call_depth == 0) k_caliper.end(key);
}

constexpr std::array k_caliper_names{
    "_ZN4cali15ScopeAnnotationC1EPKc",
    "_ZN4cali15ScopeAnnotationD1Ev",
    "_ZN4cali4Loop3endEv",
    "_ZN4cali4Loop9IterationC1EPKNS0_4ImplEi",
    "_ZN4cali4Loop9IterationD1Ev",
    "_ZN4cali4LoopC1EPKc",
    "_ZN4cali4LoopD1Ev",
    "_ZN4cali8FunctionC1EPKc",
    "_ZN4cali8FunctionD1Ev",
    "cali_begin",
    "cali_begin_byname",
    "cali_begin_comm_region",
    "cali_begin_double",
    "cali_begin_double_byname",
    "cali_begin_int",
    "cali_begin_int_byname",
    "cali_begin_phase",
    "cali_begin_region",
    "cali_begin_string",
    "cali_begin_string_byname",
    "cali_end",
    "cali_end_byname",
    "cali_end_comm_region",
    "cali_end_phase",
    "cali_end_region",
    "cali_safe_end_string",
    "cali_attribute_name",
};
constinit std::array<std::atomic<void*>, k_caliper_names.size()> g_caliper_without_table{};
constinit CallerFunctions g_caliper{k_caliper_names, g_caliper_without_table};

// Returns Caliper's function of that name in the caller's scope, or null without one.
template <class Function>
Function caliper_function(ListedName<k_caliper_names> name, const void* caller) {
  return g_caliper.table_for(caller).find_as<Function>(name.number());
}

// Returns Caliper's name of an attribute, or null.
const char* attribute_name(std::uint64_t attribute, const void* caller) {
  if (!RegionAdapter::is_active()) return nullptr;
  const auto next = caliper_function<const char* (*)(std::uint64_t)>("cali_attribute_name", caller);
  return next ? next(attribute) : nullptr;
}

}  // namespace

}  // namespace terrace::agent

namespace agent = terrace::agent;
using agent::KeySpace;

// Define wrappers. Functions of Caliper 1 return an error code, later ones nothing: the wrapper returns the
// register's value in both cases.
#define CALIPER_BEGIN(name, parameters, arguments, key, text)                                                   \
  TERRACE_EXPORT std::intptr_t name parameters {                                                                \
    const auto next = agent::caliper_function<std::intptr_t(*) parameters>(#name, __builtin_return_address(0)); \
    std::intptr_t result = 0;                                                                                   \
    {                                                                                                           \
      const agent::ScopedCall call;                                                                             \
      if (next) result = next arguments;                                                                        \
    }                                                                                                           \
    agent::begin_region(key, text);                                                                             \
    return result;                                                                                              \
  }
#define CALIPER_END(name, parameters, arguments, key)                                                           \
  TERRACE_EXPORT std::intptr_t name parameters {                                                                \
    const auto next = agent::caliper_function<std::intptr_t(*) parameters>(#name, __builtin_return_address(0)); \
    agent::end_region(key);                                                                                     \
    const agent::ScopedCall call;                                                                               \
    return next ? next arguments : 0;                                                                           \
  }

extern "C" {

CALIPER_BEGIN(cali_begin_region, (const char* name), (name), agent::key_of(KeySpace::name, name), name)
CALIPER_END(cali_end_region, (const char* name), (name), agent::key_of(KeySpace::name, name))
CALIPER_BEGIN(cali_begin_phase, (const char* name), (name), agent::key_of(KeySpace::name, name), name)
CALIPER_END(cali_end_phase, (const char* name), (name), agent::key_of(KeySpace::name, name))
CALIPER_BEGIN(cali_begin_comm_region, (const char* name), (name), agent::key_of(KeySpace::name, name), name)
CALIPER_END(cali_end_comm_region, (const char* name), (name), agent::key_of(KeySpace::name, name))

// Indexed by attribute id: regions are named by the string value, or else by the attribute.
CALIPER_BEGIN(cali_begin, (std::uint64_t attribute), (attribute), agent::key_of(KeySpace::attribute, attribute),
              agent::attribute_name(attribute, __builtin_return_address(0)))
CALIPER_BEGIN(cali_begin_int, (std::uint64_t attribute, int value), (attribute, value),
              agent::key_of(KeySpace::attribute, attribute),
              agent::attribute_name(attribute, __builtin_return_address(0)))
CALIPER_BEGIN(cali_begin_double, (std::uint64_t attribute, double value), (attribute, value),
              agent::key_of(KeySpace::attribute, attribute),
              agent::attribute_name(attribute, __builtin_return_address(0)))
CALIPER_BEGIN(cali_begin_string, (std::uint64_t attribute, const char* value), (attribute, value),
              agent::key_of(KeySpace::attribute, attribute), value)
CALIPER_END(cali_end, (std::uint64_t attribute), (attribute), agent::key_of(KeySpace::attribute, attribute))
CALIPER_END(cali_safe_end_string, (std::uint64_t attribute, const char* value), (attribute, value),
            agent::key_of(KeySpace::attribute, attribute))

CALIPER_BEGIN(cali_begin_byname, (const char* attribute), (attribute),
              agent::key_of(KeySpace::attribute_name, attribute), attribute)
CALIPER_BEGIN(cali_begin_int_byname, (const char* attribute, int value), (attribute, value),
              agent::key_of(KeySpace::attribute_name, attribute), attribute)
CALIPER_BEGIN(cali_begin_double_byname, (const char* attribute, double value), (attribute, value),
              agent::key_of(KeySpace::attribute_name, attribute), attribute)
CALIPER_BEGIN(cali_begin_string_byname, (const char* attribute, const char* value), (attribute, value),
              agent::key_of(KeySpace::attribute_name, attribute), value)
CALIPER_END(cali_end_byname, (const char* attribute), (attribute),
            agent::key_of(KeySpace::attribute_name, attribute))

// cali::Function, cali::ScopeAnnotation, cali::Loop and cali::Loop::Iteration: constructors and destructors, by
// the names that the C++ ABI gives them.
#define CALIPER_SCOPE(constructor, destructor)                                                \
  CALIPER_BEGIN(constructor, (void* self, const char* name), (self, name),                    \
                agent::key_of(KeySpace::object, reinterpret_cast<std::uint64_t>(self)), name) \
  CALIPER_END(destructor, (void* self), (self),                                               \
              agent::key_of(KeySpace::object, reinterpret_cast<std::uint64_t>(self)))
CALIPER_SCOPE(_ZN4cali8FunctionC1EPKc, _ZN4cali8FunctionD1Ev)
CALIPER_SCOPE(_ZN4cali15ScopeAnnotationC1EPKc, _ZN4cali15ScopeAnnotationD1Ev)
CALIPER_SCOPE(_ZN4cali4LoopC1EPKc, _ZN4cali4LoopD1Ev)
CALIPER_END(_ZN4cali4Loop3endEv, (void* self), (self),
            agent::key_of(KeySpace::object, reinterpret_cast<std::uint64_t>(self)))
CALIPER_BEGIN(_ZN4cali4Loop9IterationC1EPKNS0_4ImplEi, (void* self, const void* loop, int number),
              (self, loop, number), agent::key_of(KeySpace::object, reinterpret_cast<std::uint64_t>(self)),
              "iteration")
CALIPER_END(_ZN4cali4Loop9IterationD1Ev, (void* self), (self),
            agent::key_of(KeySpace::object, reinterpret_cast<std::uint64_t>(self)))

}  // extern "C"
