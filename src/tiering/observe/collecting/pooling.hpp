// SPDX-License-Identifier: Apache-2.0
// Shrinks the sampled counts of an object's chunks towards their mean (empirical Bayes, after Robbins and Morris),
// so that plans do not rest on differences that are sampling noise. The load-sampling collector does so at the end
// of an iteration.
//
// The n chunks of an object that a phase accessed would have m_i samples each if samples were proportional to
// bytes. Their true counts are modelled as Gamma distributed with these means and a relative variance t, the
// variance of the counts beyond chance: t = max(0, (sum of (k_i - m_i)^2 - sum of m_i) / sum of m_i^2). The
// expected count of a chunk with k_i samples is then (m_i + t m_i k_i) / (1 + t m_i). With few samples of equally
// accessed chunks all get the mean; with many samples, or chunks accessed one after the other, counts stay as they
// are. Sums by object, place and phase are preserved.
#pragma once

#include "memory/chunk_table.hpp"
#include "observe/counts.hpp"
#include "observe/place_view.hpp"

namespace terrace::observe {

// Pools demand misses, their exposure and written lines; prefetched lines, which have no samples, are unchanged.
void pool_alike(Phase& phase, const memory::ChunkTable& chunks, const PlaceView& view);

}  // namespace terrace::observe
