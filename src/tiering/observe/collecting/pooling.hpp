// Chunks of one object that samples cannot tell apart count as alike (empirical Bayes, after Robbins and Morris):
// differences that chance makes are none to plan by.
//
// The n chunks of an object that a phase met have m_i samples each if they have as many by the byte. Their true
// counts are taken for draws of Gamma distributions with those means and a relative variance t, which is what the
// counts vary by beyond chance: t = max(0, (sum of (k_i - m_i)^2 - sum of m_i) / sum of m_i^2). What is to be
// expected of a chunk with k_i samples is then (m_i + t m_i k_i) / (1 + t m_i). Few samples of chunks that are met
// alike give all of them the mean; many, or chunks that are met one behind the other, stay as they are. Sums by
// object, place and phase stay.
#pragma once

#include "memory/chunk_table.hpp"
#include "observe/counts.hpp"
#include "observe/place_view.hpp"

namespace terrace::observe {

// Of demand misses and what they expose, and of written lines; prefetched lines, which have no samples, stay.
void pool_alike(Phase& phase, const memory::ChunkTable& chunks, const PlaceView& view);

}  // namespace terrace::observe
