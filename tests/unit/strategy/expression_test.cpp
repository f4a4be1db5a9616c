// Tests the values, error messages and serialization of expressions. Random ones are compared with Python's
// arithmetic in tests/python/test_hints.py.
#include "strategy/hints/expression.hpp"

#include <gtest/gtest.h>

#include <map>

#include "core/error.hpp"

namespace terrace::strategy {
namespace {

Expression::Outcome outcome(const std::string& text) {
  static const std::map<std::string, double> values = {{"nnz", 1000}, {"niter", 75}, {"grid.n", 16}, {"zero", 0}};
  const auto value = [](const std::string& name) {
    const auto found = values.find(name);
    return found == values.end() ? std::nullopt : std::optional(found->second);
  };
  const auto bytes = [](const std::string& object) {
    return object == "a cg.cpp:76" ? std::optional(4096.0) : std::nullopt;
  };
  return Expression::parse(text).evaluate({value, bytes});
}

double value(const std::string& text) {
  const auto found = outcome(text);
  EXPECT_EQ(found.problem, "") << text;
  return found.value;
}

std::string refusal(const std::string& text) {
  try {
    static_cast<void>(Expression::parse(text));
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::invalid);
    return error.what();
  }
  return "accepted";
}

TEST(Expression, Operators_EvaluateAsInMathematics) {
  EXPECT_EQ(value("2*nnz*niter"), 150000);
  EXPECT_EQ(value(" 1 + 2 * 3 - 4 / 8 "), 6.5);
  EXPECT_EQ(value("(1 + 2) * 3"), 9);
  EXPECT_EQ(value("7 - 4 - 2"), 1);
  EXPECT_EQ(value("8 / 4 / 2"), 1);
  EXPECT_EQ(value("-2^2"), -4);
  EXPECT_EQ(value("2^3^2"), 512);
  EXPECT_EQ(value("2^-2"), 0.25);
  EXPECT_EQ(value("--3"), 3);
  EXPECT_EQ(value("3*-2"), -6);
  EXPECT_EQ(value("grid.n^3"), 4096);
  EXPECT_EQ(value("min(niter, 10, 20) + max(1, 2)"), 12);
  EXPECT_EQ(value("ceil(5 / 4) + ceil(-2.5) + 10 * ceil(3)"), 30);
  EXPECT_EQ(value("ceil(2^53 + 2)"), 9007199254740994.0);
  EXPECT_EQ(value("bytes(\"a cg.cpp:76\") / 8"), 512);
  EXPECT_EQ(value("bytes('a cg.cpp:76')"), 4096);
}

TEST(Expression, Numbers_AreParsedExactly) {
  EXPECT_EQ(value("0.1"), 0.1);
  EXPECT_EQ(value("1.5e9"), 1.5e9);
  EXPECT_EQ(value("3e-7"), 3e-7);
  EXPECT_EQ(value("123456789012345"), 123456789012345.0);
  EXPECT_EQ(value("64MiB"), 64.0 * 1024 * 1024);
  EXPECT_EQ(value("1.5 * 2kB"), 3000);
  EXPECT_EQ(value("2B"), 2);
  EXPECT_EQ(value("0.3KiB"), 0.3 * 1024);
}

TEST(Expression, UndefinedValue_NamesTheReason) {
  EXPECT_EQ(outcome("2*nnz*steps").problem, "steps has no value");
  EXPECT_EQ(outcome("bytes(\"u\")").problem, "there is no object 'u'");
  EXPECT_EQ(outcome("nnz / zero").problem, "it divides by 0");
  EXPECT_EQ(outcome("2^0.5").problem, "it has an exponent that is no whole number from -64 to 64");
  EXPECT_EQ(outcome("2^65").problem, "it has an exponent that is no whole number from -64 to 64");
  EXPECT_EQ(outcome("(1e20^60)").problem, "it is too large");
}

TEST(Expression, SyntaxError_ReportsOneLineWithColumn) {
  EXPECT_EQ(refusal("2*nnz*"),
            "'2*nnz*', column 7: it ends where a number, a name or '(' belongs; write for example 2*nnz*niter");
  EXPECT_EQ(refusal(""),
            "'', column 1: it ends where a number, a name or '(' belongs; write for example 2*nnz*niter");
  EXPECT_EQ(refusal("(1 + 2"), "'(1 + 2', column 7: a ')' is missing after what stands in parentheses");
  EXPECT_EQ(refusal("1 + 2)"), "'1 + 2)', column 6: there is no '(' for this ')'");
  EXPECT_EQ(refusal("2 nnz"), "'2 nnz', column 3: 'n' stands where an operator or the end belongs");
  EXPECT_EQ(refusal("2nnz"),
            "'2nnz', column 1: 'nnz' is no unit of a size (kB, KiB, MB, MiB, ...); between a number and a name "
            "belongs a *");
  EXPECT_EQ(refusal("sqrt(2)"),
            "'sqrt(2)', column 1: there is no function 'sqrt'; there are min, max, ceil and bytes");
  EXPECT_EQ(refusal("bytes(u)"),
            "'bytes(u)', column 7: bytes takes an object's name in quotes; write bytes(\"u\")");
  EXPECT_EQ(refusal("bytes(\"u)"), "'bytes(\"u)', column 8: the quote after the object's name is missing");
  EXPECT_EQ(refusal("min(2)"),
            "'min(2)', column 6: min and max take two values or more; write for example min(n, 100)");
  EXPECT_EQ(refusal("12345678901234567890"),
            "'12345678901234567890', column 1: a number has at most 15 digits; write for example 1.5e20");
  EXPECT_EQ(refusal("1e23"), "'1e23', column 1: the number is out of range; its exponent is between -22 and 22");
  EXPECT_EQ(refusal("2e"), "'2e', column 1: the exponent after the e is missing");
  EXPECT_EQ(refusal("a\n+1"), "'a?+1', column 2: '?' stands where an operator or the end belongs");
  EXPECT_NE(refusal(std::string(2000, '1')).find("more than 1000 characters"), std::string::npos);
  EXPECT_NE(refusal(std::string(200, '(')).find("more than 50 parentheses"), std::string::npos);
  EXPECT_NE(refusal("2" +
                    [] {
                      std::string tower;
                      for (int i = 0; i < 60; ++i) tower += "^1";
                      return tower;
                    }())
                .find("more than 50"),
            std::string::npos);
}

TEST(Expression, Serialized_RoundTrips) {
  const auto expression = Expression::parse("-max(2*nnz, bytes(\"u\")^2, 1.5) / 64MiB");
  BlobWriter out;
  expression.to_blob(out);
  BlobReader in(out.bytes());
  const auto again = Expression::from_blob(in);
  EXPECT_TRUE(in.at_end());
  EXPECT_EQ(again.text(), expression.text());
  EXPECT_EQ(again.names(), std::vector<std::string>{"nnz"});
  EXPECT_EQ(again.objects(), std::vector<std::string>{"u"});
  const auto one = [](const std::string&) { return std::optional(1000.0); };
  EXPECT_EQ(again.evaluate({one, one}).value, -1e6 / (64.0 * 1024 * 1024));
}

TEST(Expression, MalformedSteps_AreRejected) {
  for (const auto& ops : std::vector<std::vector<Expression::Op>>{{},
                                                                  {Expression::Op::add},
                                                                  {Expression::Op::number, Expression::Op::add},
                                                                  {Expression::Op::number, Expression::Op::number},
                                                                  {static_cast<Expression::Op>(99)}}) {
    BlobWriter out;
    out.put(std::string_view("made up"));
    out.put(static_cast<std::uint32_t>(ops.size()));
    for (const auto op : ops) {
      out.put(op);
      out.put(1.0);
      out.put(std::string_view());
    }
    BlobReader in(out.bytes());
    EXPECT_THROW(Expression::from_blob(in), Error);
  }
}

TEST(Expression, Constants_AreParsedWithoutNames) {
  EXPECT_EQ(parse_constant("2^20"), 1048576);
  EXPECT_EQ(parse_constant("32MiB"), 32.0 * 1048576);
  EXPECT_THROW(parse_constant("nnz"), Error);
  EXPECT_TRUE(is_value_name("grid.n_2"));
  for (const char* name : {"", "2n", "a b", "min", "bytes", "n-1"}) EXPECT_FALSE(is_value_name(name)) << name;
}

}  // namespace
}  // namespace terrace::strategy
