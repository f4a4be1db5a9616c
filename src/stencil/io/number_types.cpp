// SPDX-License-Identifier: Apache-2.0
// Implements number_types.hpp.
#include "stencil/io/number_types.hpp"

namespace terrace::stencil::io {
namespace {

struct Types {
  hid_t little;
  hid_t big;
  hid_t native;
  const char* text;
};

Types types_of(Number number) {
  switch (number) {
    case Number::float64:
      return {H5T_IEEE_F64LE, H5T_IEEE_F64BE, H5T_NATIVE_DOUBLE, "float64"};
    case Number::float32:
      return {H5T_IEEE_F32LE, H5T_IEEE_F32BE, H5T_NATIVE_FLOAT, "float32"};
    case Number::int64:
      return {H5T_STD_I64LE, H5T_STD_I64BE, H5T_NATIVE_INT64, "int64"};
    case Number::int32:
      break;
  }
  return {H5T_STD_I32LE, H5T_STD_I32BE, H5T_NATIVE_INT32, "int32"};
}

}  // namespace

hid_t type_in_file(Number number) { return types_of(number).little; }
hid_t type_in_memory(Number number) { return types_of(number).native; }
std::string name_of(Number number) { return types_of(number).text; }

std::string text_of_type(hid_t type) {
  const auto bits = std::to_string(8 * H5Tget_size(type));
  switch (H5Tget_class(type)) {
    case H5T_INTEGER:
      return (H5Tget_sign(type) == H5T_SGN_NONE ? "unsigned int" : "int") + bits;
    case H5T_FLOAT:
      return "float" + bits;
    case H5T_STRING:
      return "text";
    default:
      return "a type that is no number";
  }
}

bool is_number(hid_t type, Number number) {
  const auto types = types_of(number);
  return H5Tequal(type, types.little) > 0 || H5Tequal(type, types.big) > 0;
}

}  // namespace terrace::stencil::io
