// Dividing the one piece of scratch memory that an operation may ask for.
#pragma once

#include <cstddef>
#include <cstdint>

namespace strobe::cuda {

/// Bytes of a part of scratch memory, so that the next part begins aligned.
inline std::size_t scratch_part(std::int64_t elements, std::size_t element) {
  constexpr std::size_t alignment = 256;
  return (static_cast<std::size_t>(elements) * element + alignment - 1) / alignment * alignment;
}

}  // namespace strobe::cuda
