// Tests that valid UTF-8 is unchanged and that only invalid bytes are replaced.
#include "core/valid_text.hpp"

#include <gtest/gtest.h>

#include <random>

namespace terrace {
namespace {

TEST(ValidText, ValidUtf8_IsUnchanged) {
  for (const std::string text : {"", "field main.c:3",
                                 "Gr\xC3\xB6\xC3\x9F"
                                 "e",
                                 "\xE2\x82\xAC", "\xF0\x9F\x98\x80", "\xF4\x8F\xBF\xBF", "\xED\x9F\xBF"}) {
    EXPECT_TRUE(is_utf8(text)) << text;
    EXPECT_EQ(to_utf8(text), text);
  }
}

TEST(ValidText, InvalidBytes_AreReplacedOneByOne) {
  const std::string mark = "\xEF\xBF\xBD";
  EXPECT_EQ(to_utf8("a\x99z"), "a" + mark + "z");
  EXPECT_EQ(to_utf8("\xC3"), mark) << "cut short";
  EXPECT_EQ(to_utf8("\xC0\x80"), mark + mark) << "overlong";
  EXPECT_EQ(to_utf8("\xE0\x9F\xBF"), mark + mark + mark) << "overlong";
  EXPECT_EQ(to_utf8("\xED\xA0\x80"), mark + mark + mark) << "a surrogate";
  EXPECT_EQ(to_utf8("\xF4\x90\x80\x80"), mark + mark + mark + mark) << "beyond U+10FFFF";
  EXPECT_EQ(to_utf8("\xFF\xC3\xB6"), mark + "\xC3\xB6");
}

TEST(ValidText, RandomBytes_BecomeValidUtf8) {
  std::mt19937 random(7);
  for (int i = 0; i < 2000; ++i) {
    std::string text(random() % 12, '\0');
    for (auto& c : text) c = static_cast<char>(random());
    const auto valid = to_utf8(text);
    EXPECT_TRUE(is_utf8(valid));
    EXPECT_EQ(to_utf8(valid), valid);
    EXPECT_EQ(is_utf8(text), valid == text);
  }
}

}  // namespace
}  // namespace terrace
