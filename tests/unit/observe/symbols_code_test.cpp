// Compares the instructions of hooks with code that was counted by hand (hooked_code.s).
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>

#include "observe/symbols/files/symbols_writer.hpp"
#include "observe/symbols/symbols.hpp"

namespace terrace::observe {
namespace {

namespace fs = std::filesystem;

// Returns the address of a label from binutils.
std::uint64_t address_of(const std::string& label) {
  std::FILE* const nm = popen(("nm " TERRACE_HOOKED_CODE " | grep -w " + label).c_str(), "r");
  unsigned long long address = 0;
  const bool found = std::fscanf(nm, "%llx", &address) == 1;
  pclose(nm);
  EXPECT_TRUE(found) << label;
  return address;
}

constexpr std::uint64_t k_bias = 1ULL << 40;

// The symbol table of hooked_code.s, created as by the launcher.
class SymbolsCode : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto file = write_symbol_file(TERRACE_HOOKED_CODE, cache_.string());
    ASSERT_TRUE(table_.add_file(file.c_str()));
    const auto name = fs::path(file).filename().string();
    std::vector<std::uint8_t> id;
    for (std::size_t i = 0; i + 1 < name.find('-'); i += 2)
      id.push_back(static_cast<std::uint8_t>(std::stoi(name.substr(i, 2), nullptr, 16)));
    ASSERT_EQ(table_.add_module({TERRACE_HOOKED_CODE, k_bias, k_bias, k_bias + (1ULL << 30), id}), 0);
  }
  void TearDown() override { fs::remove_all(cache_); }
  [[nodiscard]] auto work(const std::string& label) const { return table_.work(k_bias + address_of(label)); }

  SymbolTable table_;

 private:
  fs::path cache_ = fs::temp_directory_path() / ("code-" + std::to_string(getpid()));
};

TEST_F(SymbolsCode, Instructions_AssignedToHooksOfBlock) {
  const auto at = [&](const std::string& label) -> std::optional<std::uint32_t> {
    const auto found = work(label);
    return found ? std::optional(found->instructions) : std::nullopt;
  };
  EXPECT_EQ(at("at_block"), 2u);
  // 21 of the block, 1 of the 2 after it.
  EXPECT_EQ(at("at_read").value_or(0) + at("at_write").value_or(0), 22u);
  EXPECT_EQ(at("at_read"), 11u);
  EXPECT_EQ(at("at_second"), 34u);
  EXPECT_EQ(at("at_atomic"), 0u);
  EXPECT_EQ(at("at_other"), 3u);
  EXPECT_EQ(at("mixture"), std::nullopt) << "no hook returns there";
  EXPECT_FALSE(table_.work(k_bias - 1));
}

TEST_F(SymbolsCode, TailCalledExitHook_EndsFunction) {
  const auto beginning = work("at_beginning");
  ASSERT_TRUE(beginning);
  EXPECT_EQ(beginning->loops.iterates, 0u) << "there is no loop of the whole function";
  EXPECT_NE(beginning->loops.enters, 0u);
  const auto place = table_.place(k_bias + address_of("in_loop"));
  EXPECT_EQ(place.loop, beginning->loops.enters);
  EXPECT_EQ(table_.loop(place.loop).around, 0u);
}

TEST_F(SymbolsCode, Call_FunctionNeverReturns_LeadsNowhere) {
  const auto place = table_.place(k_bias + address_of("in_checked"));
  ASSERT_NE(place.loop, 0u);
  EXPECT_EQ(table_.loop(place.loop).around, 0u);
}

}  // namespace
}  // namespace terrace::observe
