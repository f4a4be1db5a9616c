// SPDX-License-Identifier: Apache-2.0
// Parses and evaluates the arithmetic expressions of hints files, --define and terrace.h, whose values are known
// at run time: "2*nnz*niter", "bytes(\"u\") / 8 + n^2".
//
//   + - * / ^    as in mathematics: ^ binds tighter than unary minus and is right-associative; its exponent is an
//                integer from -64 to 64
//   ( )          and min(a, b, ...), max(a, b, ...), ceil(a): the least integer that is not below a
//   12 1.5e6     up to 15 digits, optionally with a unit of size: 64MiB, 200MB
//   nnz          a value's name: letters, digits, _ and ., no digit first
//   bytes("u")   the total size of the objects of that name, or of those that the pattern matches
//
// Parsed once into the steps of a stack machine. Parsing and evaluation run in users' processes without libm.
// Therefore numbers that would need more than one rounding to become doubles are rejected, and powers are
// products.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/blob.hpp"

namespace terrace::strategy {

class Expression {
 public:
  // Throws Error{invalid}: the text, the column (from 1), what is wrong and what to do.
  static Expression parse(std::string_view text);

  // The values of names and the sizes of objects; each function returns nothing for an unknown one.
  struct Bindings {
    std::function<std::optional<double>(const std::string& name)> value;
    std::function<std::optional<double>(const std::string& object)> bytes;
  };
  struct Outcome {
    double value = 0;
    std::string problem;  // why there is no value: "nnz has no value"; empty if there is one
  };
  [[nodiscard]] Outcome evaluate(const Bindings& bindings) const;

  [[nodiscard]] const std::string& text() const { return text_; }
  // Return the names of the values, and of the objects in bytes(), that the expression uses, with repetitions.
  [[nodiscard]] std::vector<std::string> names() const;
  [[nodiscard]] std::vector<std::string> objects() const;

  void to_blob(BlobWriter& out) const;
  // Throws Error{corrupt} if the steps do not form a valid expression.
  static Expression from_blob(BlobReader& in);

  enum class Op : std::uint8_t {
    number,
    value,
    bytes,
    negate,
    add,
    subtract,
    multiply,
    divide,
    power,
    min,
    max,
    ceil
  };
  struct Step {
    Op op = Op::number;
    double number = 0;
    std::string name;
  };

 private:
  [[nodiscard]] bool is_well_formed() const;

  std::string text_;
  std::vector<Step> steps_;  // in the order of a stack machine
};

// Evaluates an expression without names: "75", "64MiB", "2^20". Throws Error{invalid}.
double parse_constant(std::string_view text);

// Returns whether the text is a valid name of a value.
bool is_value_name(std::string_view text);

}  // namespace terrace::strategy
