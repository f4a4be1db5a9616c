// Tests the records that processes publish through a ledger: whole, or absent.
#include <gtest/gtest.h>
#include <signal.h>

#include <cstring>
#include <random>
#include <vector>

#include "ledger_fixture.hpp"

namespace terrace::memory {
namespace {

const machine::Budget k_budget{Bytes{1 << 20}};
constexpr std::size_t k_large = 8 * k_ledger_record_words[1];

std::vector<std::byte> random_record(std::mt19937& random, std::size_t size) {
  std::vector<std::byte> record(size);
  for (auto& byte : record) byte = static_cast<std::byte>(random());
  return record;
}

// Returns the record of the only other process, or nothing.
std::optional<std::vector<std::byte>> read(const Ledger& ledger, LedgerRecordKind kind,
                                           std::size_t capacity = k_large) {
  const auto peers = ledger.peers(false);
  if (peers.size() != 1) return std::nullopt;
  std::vector<std::byte> record(capacity);
  const auto size = ledger.read_record(peers[0], kind, record);
  if (!size) return std::nullopt;
  record.resize(*size);
  return record;
}

TEST(LedgerRecords, PublishedRecord_IsReadByAnotherProcess) {
  SharedPage shared;
  Ledger ledger(*shared.page, k_budget);
  std::mt19937 random(1);
  for (const auto kind : {LedgerRecordKind::small, LedgerRecordKind::large}) {
    const auto most = 8 * k_ledger_record_words[static_cast<std::size_t>(kind)];
    for (const std::size_t size :
         {std::size_t{0}, std::size_t{1}, std::size_t{7}, std::size_t{8}, most - 1, most}) {
      const auto record = random_record(random, size);
      ledger.publish(kind, record);
      const auto same = in_child([&] {
        const Ledger other(*shared.page, k_budget);
        return read(other, kind) == record ? 0 : 1;
      });
      EXPECT_EQ(same, 0) << size;
    }
  }
}

TEST(LedgerRecords, NothingPublished_ReadsAsAbsent) {
  SharedPage shared;
  const Ledger ledger(*shared.page, k_budget);
  EXPECT_EQ(in_child([&] {
              const Ledger other(*shared.page, k_budget);
              return read(other, LedgerRecordKind::small) || read(other, LedgerRecordKind::large) ? 1 : 0;
            }),
            0);
}

TEST(LedgerRecords, TooSmallBuffer_ReadsAsAbsent) {
  SharedPage shared;
  Ledger ledger(*shared.page, k_budget);
  std::mt19937 random(1);
  ledger.publish(LedgerRecordKind::large, random_record(random, 100));
  EXPECT_EQ(
      in_child([&] {
        const Ledger other(*shared.page, k_budget);
        return read(other, LedgerRecordKind::large, 99) ? 1 : read(other, LedgerRecordKind::large, 100) ? 0 : 2;
      }),
      0);
}

// The slot has the record of its owner before.
TEST(LedgerRecords, NewOwnerOfSlot_HasNoRecord) {
  SharedPage shared;
  std::mt19937 random(1);
  const auto record = random_record(random, 50);
  in_child([&] {
    Ledger first(*shared.page, k_budget);
    first.publish(LedgerRecordKind::small, record);
    return 0;
  });
  const Ledger second(*shared.page, k_budget);
  EXPECT_EQ(in_child([&] {
              const Ledger other(*shared.page, k_budget);
              return read(other, LedgerRecordKind::small) ? 1 : 0;
            }),
            0);
}

TEST(LedgerRecords, StrayWrite_RecordIsAbsentUntilItIsPublishedAgain) {
  SharedPage shared;
  Ledger ledger(*shared.page, k_budget);
  std::mt19937 random(1);
  for (int i = 0; i < 200; ++i) {
    const auto record = random_record(random, 1 + random() % k_large);
    ledger.publish(LedgerRecordKind::large, record);
    auto* const bytes = reinterpret_cast<unsigned char*>(&shared.page->large_records[ledger.own_slot()]);
    const auto at = random() % (24 + record.size());
    bytes[at] = static_cast<unsigned char>(bytes[at] ^ (1 + random() % 255));
    const auto after_damage = in_child([&] {
      const Ledger other(*shared.page, k_budget);
      const auto found = read(other, LedgerRecordKind::large);
      return !found || *found == record ? 0 : 1;  // bytes of the last word beyond the record do not count
    });
    EXPECT_EQ(after_damage, 0) << at;
    ledger.publish(LedgerRecordKind::large, record);
    const auto after_repair = in_child([&] {
      const Ledger other(*shared.page, k_budget);
      return read(other, LedgerRecordKind::large) == record ? 0 : 1;
    });
    ASSERT_EQ(after_repair, 0) << at;
  }
}

// Each record consists of one byte value, so that a mixture of two is told.
TEST(LedgerRecords, ReaderBesideWriter_SeesWholeRecordsOnly) {
  SharedPage shared;
  const auto writer = ::fork();
  if (writer == 0) {
    Ledger ledger(*shared.page, k_budget);
    std::vector<std::byte> record;
    for (unsigned i = 0;; ++i) {
      record.assign(16 + i % 500, static_cast<std::byte>(i));
      ledger.publish(LedgerRecordKind::large, record);
    }
  }
  const Ledger ledger(*shared.page, k_budget);
  int whole = 0, mixed = 0;
  for (int i = 0; i < 2'000'000 && whole < 20'000; ++i) {
    const auto record = read(ledger, LedgerRecordKind::large);
    if (!record) continue;
    ++whole;
    for (const auto byte : *record)
      if (byte != record->front()) {
        ++mixed;
        break;
      }
  }
  ::kill(writer, SIGKILL);
  ::waitpid(writer, nullptr, 0);
  EXPECT_GT(whole, 0);
  EXPECT_EQ(mixed, 0);
}

}  // namespace
}  // namespace terrace::memory
