// SPDX-License-Identifier: Apache-2.0
// Implements the functions that the Fortran module binds to (include/terrace/terrace.f90). Strings are passed as C
// descriptors, whose leading members, address and length, are standardised (ISO/IEC 1539-1:2018, 18.5.3).
#include <terrace/terrace.h>

#include <algorithm>
#include <cstring>

#include "agent/lifecycle/in_process.hpp"

namespace terrace::agent {

namespace {

struct FortranString {
  char* text;
  std::size_t length;
};

// A null-terminated copy without trailing blanks, truncated to the buffer's size.
template <std::size_t Size>
class CString {
 public:
  explicit CString(const FortranString& string) {
    auto length = std::min(string.length, sizeof text_ - 1);
    std::memcpy(text_, string.text, length);
    while (length > 0 && text_[length - 1] == ' ') --length;
    text_[length] = '\0';
  }
  operator const char*() const { return text_; }  // NOLINT(google-explicit-constructor)

 private:
  char text_[Size];
};
using Name = CString<256>;
using Expression =
    CString<1002>;  // one character more than the permitted length, so that too long ones are refused

}  // namespace

}  // namespace terrace::agent

namespace agent = terrace::agent;

extern "C" {

TERRACE_EXPORT void terrace_fortran_loop_begin(const agent::FortranString* name) {
  terrace_loop_begin(agent::Name(*name));
}

TERRACE_EXPORT void terrace_fortran_phase(const agent::FortranString* name) { terrace_phase(agent::Name(*name)); }

TERRACE_EXPORT terrace_status terrace_fortran_object(const agent::FortranString* name, void* array, size_t bytes) {
  return terrace_object(agent::Name(*name), array, bytes);
}

TERRACE_EXPORT terrace_status terrace_fortran_value(const agent::FortranString* name, double value) {
  return terrace_value(agent::Name(*name), value);
}

TERRACE_EXPORT terrace_status terrace_fortran_refs(const agent::FortranString* object,
                                                   const agent::FortranString* expression) {
  return terrace_refs(agent::Name(*object), agent::Expression(*expression));
}

TERRACE_EXPORT terrace_status terrace_fortran_depends(const agent::FortranString* phase,
                                                      const agent::FortranString* object, int used) {
  return terrace_depends(agent::Name(*phase), agent::Name(*object), used);
}

TERRACE_EXPORT terrace_status terrace_fortran_apply(void* array, size_t bytes,
                                                    const agent::FortranString* intent) {
  return terrace_apply(array, bytes, agent::Name(*intent));
}

// A blank string removes the thread's intent.
TERRACE_EXPORT terrace_status terrace_fortran_intent(const agent::FortranString* intent) {
  const agent::Name name(*intent);
  return terrace_intent(*name == '\0' ? nullptr : static_cast<const char*>(name));
}

TERRACE_EXPORT void terrace_fortran_where(const void* array, const agent::FortranString* place) {
  const char* const found = terrace_where(array);
  const auto length = found ? std::min(std::strlen(found), place->length) : 0;
  std::memset(place->text, ' ', place->length);
  if (length > 0) std::memcpy(place->text, found, length);
}

}  // extern "C"
