// Tests PageMap against pages that the test itself touches.
#include "memory/page_map.hpp"

#include <gtest/gtest.h>

#include "support/real_memory.hpp"

#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT 21  // <linux/mman.h>, since Linux 5.4
#endif

namespace terrace::memory {
namespace {

using tests::Mapping;

constexpr std::size_t k_pages = 64;

TEST(PageMap, NextPage_FindsTouchedPages) {
  const PageMap pages;
  const Mapping map(k_pages * k_page);
  ::madvise(map.page(0), k_pages * k_page, MADV_NOHUGEPAGE);
  const auto end = map.address(k_pages);
  EXPECT_EQ(pages.next_page(map.address(), end), end);
  map.touch(7, 3);
  map.touch(20, 1);
  EXPECT_EQ(pages.next_page(map.address(), end), map.address(7));
  EXPECT_EQ(pages.next_page(map.address(8), end), map.address(8));
  EXPECT_EQ(pages.next_page(map.address(10), end), map.address(20));
  EXPECT_EQ(pages.next_page(map.address(21), end), end);
  EXPECT_TRUE(pages.has_page(map.address(9)));
  EXPECT_FALSE(pages.has_page(map.address(10)));
  // Also if the kernel has swapped it out, where it can.
  ::madvise(map.page(7), 3 * k_page, MADV_PAGEOUT);
  EXPECT_EQ(pages.next_page(map.address(), end), map.address(7));
  ::madvise(map.page(7), k_page, MADV_DONTNEED);
  EXPECT_EQ(pages.next_page(map.address(), end), map.address(8));
}

TEST(PageMap, MayBeHuge_DistinguishesSmallPages) {
  const PageMap pages;
  const Mapping map(2 * k_huge_page, k_huge_page);
  ::madvise(map.page(0), k_huge_page, MADV_HUGEPAGE);
  ::madvise(map.page(k_huge_page / k_page), k_huge_page, MADV_NOHUGEPAGE);
  map.touch(0, 2 * k_huge_page / k_page);
  if (pages.may_be_huge(map.address(k_huge_page / k_page))) GTEST_SKIP() << "this kernel does not tell";
  if (!pages.may_be_huge(map.address())) GTEST_SKIP() << "the kernel gave no huge page";
  EXPECT_TRUE(pages.may_be_huge(map.address(k_huge_page / k_page - 1)));
  ::madvise(map.page(3), k_page, MADV_DONTNEED);  // splits it
  EXPECT_FALSE(pages.may_be_huge(map.address()));
}

}  // namespace
}  // namespace terrace::memory
