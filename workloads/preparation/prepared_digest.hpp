// Digests of prepared graphs, a step at a time. Whoever prepares a step digests it, so nobody reads all steps for it.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/ids.hpp"

namespace strobe {

struct PreparedArrays;
struct PreparedGraph;

/// The arrays of one step. Row offsets [N] are the ends of its rows within the whole graph.
struct StepParts {
  std::span<const std::int64_t> row_ends;
  std::span<const VertexId> columns;
  std::span<const double> values64;
  std::span<const float> values32;
  std::span<const double> features64;
  std::span<const float> features32;
  std::span<const double> products64;
  std::span<const float> products32;
};

StepParts parts_of(const PreparedArrays& step);
StepParts parts_of(const PreparedGraph& graph, Step t);

inline constexpr std::int64_t step_digest_bytes = 64;  // hexadecimal digits of a SHA-256

/// SHA-256 of a step, as hexadecimal digits.
std::string digest_of(const StepParts& step);

/// The digests of all steps, one after the other: those that the graph has, else they are computed on several threads.
/// Cost O(values) at most.
std::string step_digests_of(const PreparedGraph& graph);

}  // namespace strobe
