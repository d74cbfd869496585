// The parts of a rank's memory: what its bytes are for. Each allocation of a device belongs to one part.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/enum_array.hpp"

namespace strobe {

enum class MemoryPart : std::uint8_t {
  state,     // parameters, optimizer, activations, gradients, node memory: whatever belongs to no other part
  graph,     // matrices, lists of rows, lists of neighbours
  features,  // constant inputs of the first layer
  buffers,   // rows that ranks exchange, packed or in place, and the lists that say which
  samples,   // what losses and metrics are computed over
};
inline constexpr int memory_part_count = 5;

template <class T>
using PerMemoryPart = EnumArray<MemoryPart, T, memory_part_count>;

inline constexpr PerMemoryPart<std::string_view> memory_part_names = {
    {"state", "graph", "features", "buffers", "samples"}};

}  // namespace strobe
