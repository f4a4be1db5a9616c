// What goes with hooks, against code that was counted by hand (hooked_code.s).
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

// The address of a label, as binutils read it.
std::uint64_t address_of(const std::string& label) {
  std::FILE* const nm = popen(("nm " TERRACE_HOOKED_CODE " | grep -w " + label).c_str(), "r");
  unsigned long long address = 0;
  const bool found = std::fscanf(nm, "%llx", &address) == 1;
  pclose(nm);
  EXPECT_TRUE(found) << label;
  return address;
}

TEST(SymbolsCode, InstructionsGoWithTheHooksOfTheirBlock) {
  const auto cache = fs::temp_directory_path() / ("code-" + std::to_string(getpid()));
  const auto file = write_symbol_file(TERRACE_HOOKED_CODE, cache.string());
  SymbolTable table;
  ASSERT_TRUE(table.add_file(file.c_str()));
  const auto name = fs::path(file).filename().string();
  std::vector<std::uint8_t> id;
  for (std::size_t i = 0; i + 1 < name.find('-'); i += 2)
    id.push_back(static_cast<std::uint8_t>(std::stoi(name.substr(i, 2), nullptr, 16)));
  constexpr std::uint64_t k_bias = 1ULL << 40;
  ASSERT_EQ(table.add_module({TERRACE_HOOKED_CODE, k_bias, k_bias, k_bias + (1ULL << 30), id}), 0);
  const auto at = [&](const std::string& label) -> std::optional<std::uint32_t> {
    const auto work = table.work(k_bias + address_of(label));
    return work ? std::optional(work->instructions) : std::nullopt;
  };
  EXPECT_EQ(at("at_block"), 2u);
  // 21 of the block, 1 of the 2 behind it.
  EXPECT_EQ(at("at_read").value_or(0) + at("at_write").value_or(0), 22u);
  EXPECT_EQ(at("at_read"), 11u);
  EXPECT_EQ(at("at_second"), 34u);
  EXPECT_EQ(at("at_atomic"), 0u);
  EXPECT_EQ(at("at_other"), 3u);
  EXPECT_EQ(at("mixture"), std::nullopt) << "no hook returns there";
  EXPECT_EQ(table.work(k_bias - 1), std::nullopt);
  fs::remove_all(cache);
}

}  // namespace
}  // namespace terrace::observe
