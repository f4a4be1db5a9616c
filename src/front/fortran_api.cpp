// What the Fortran module binds to (include/terrace/terrace.f90). A string comes as a C descriptor, of which the
// standard fixes the beginning: the address and the length (ISO/IEC 1539-1:2018, 18.5.3).
#include <terrace/terrace.h>

#include <algorithm>
#include <cstring>

#include "front/guest.hpp"

namespace terrace::front {

namespace {

struct FortranString {
  char* text;
  std::size_t length;
};

// A copy that ends with a zero, without trailing blanks, cut where it is longer than any sensible one.
template <std::size_t Size>
class Copy {
 public:
  explicit Copy(const FortranString& string) {
    auto length = std::min(string.length, sizeof text_ - 1);
    std::memcpy(text_, string.text, length);
    while (length > 0 && text_[length - 1] == ' ') --length;
    text_[length] = '\0';
  }
  operator const char*() const { return text_; }  // NOLINT(google-explicit-constructor)

 private:
  char text_[Size];
};
using Name = Copy<256>;
using Expression = Copy<1002>;  // one character more than it may have

}  // namespace

}  // namespace terrace::front

namespace front = terrace::front;

extern "C" {

TERRACE_EXPORT void terrace_fortran_loop_begin(const front::FortranString* name) {
  terrace_loop_begin(front::Name(*name));
}

TERRACE_EXPORT void terrace_fortran_phase(const front::FortranString* name) { terrace_phase(front::Name(*name)); }

TERRACE_EXPORT terrace_status terrace_fortran_object(const front::FortranString* name, void* array, size_t bytes) {
  return terrace_object(front::Name(*name), array, bytes);
}

TERRACE_EXPORT terrace_status terrace_fortran_value(const front::FortranString* name, double value) {
  return terrace_value(front::Name(*name), value);
}

TERRACE_EXPORT terrace_status terrace_fortran_refs(const front::FortranString* object,
                                                   const front::FortranString* expression) {
  return terrace_refs(front::Name(*object), front::Expression(*expression));
}

TERRACE_EXPORT terrace_status terrace_fortran_depends(const front::FortranString* phase,
                                                      const front::FortranString* object, int used) {
  return terrace_depends(front::Name(*phase), front::Name(*object), used);
}

TERRACE_EXPORT void terrace_fortran_where(const void* array, const front::FortranString* place) {
  const char* const found = terrace_where(array);
  const auto length = found ? std::min(std::strlen(found), place->length) : 0;
  std::memset(place->text, ' ', place->length);
  if (length > 0) std::memcpy(place->text, found, length);
}

}  // extern "C"
