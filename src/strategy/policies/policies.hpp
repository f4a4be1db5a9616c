// The policies, one file each. policy_table.cpp registers them.
#pragma once

#include <memory>

#include "strategy/policy.hpp"

namespace terrace::strategy {

std::unique_ptr<Policy> make_kernel_tiering();
std::unique_ptr<Policy> make_memtis();
std::unique_ptr<Policy> make_colloid();
std::unique_ptr<Policy> make_alto();

}  // namespace terrace::strategy
