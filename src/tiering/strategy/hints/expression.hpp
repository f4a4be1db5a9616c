// A number that is known when the program runs, as a person writes it: "2*nnz*niter", "bytes(\"u\") / 8 + n^2".
//
//   + - * / ^    as in mathematics: ^ before a minus sign, and to the right; its exponent is whole, from -64 to 64
//   ( )          and min(a, b, ...), max(a, b, ...)
//   12 1.5e6     up to 15 digits; with a unit of sizes, too: 64MiB, 200MB
//   nnz          a value's name: letters, digits, _ and ., no digit first
//   bytes("u")   the size of the objects of that name, or of those that the pattern matches
//
// Parsed once into steps for a stack. Programs parse and evaluate without libm, so numbers that would need more
// than one rounding to become doubles are refused, and powers are products.
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

  // What names and sizes are worth; nothing for what nobody knows.
  struct Bindings {
    std::function<std::optional<double>(const std::string& name)> value;
    std::function<std::optional<double>(const std::string& object)> bytes;
  };
  struct Outcome {
    double value = 0;
    std::string problem;  // why there is no value: "nnz has no value"; empty where there is one
  };
  [[nodiscard]] Outcome evaluate(const Bindings& bindings) const;

  [[nodiscard]] const std::string& text() const { return text_; }
  // Of the values that it takes, and of the objects in bytes(); each as often as it stands there.
  [[nodiscard]] std::vector<std::string> names() const;
  [[nodiscard]] std::vector<std::string> objects() const;

  void to_blob(BlobWriter& out) const;
  // Throws Error{corrupt} for steps that no parser makes.
  static Expression from_blob(BlobReader& in);

  enum class Op : std::uint8_t { number, value, bytes, negate, add, subtract, multiply, divide, power, min, max };
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

// The same, for a text that has to be a number by itself: "75", "64MiB", "2^20". Throws Error{invalid}.
double parse_constant(std::string_view text);

// What may be the name of a value.
bool is_value_name(std::string_view text);

}  // namespace terrace::strategy
