// The content of an output file while it is gathered.
#pragma once

#include <cstddef>

#include "workloads/storage/growing_column.hpp"
#include "workloads/storage/node_store.hpp"

namespace strobe {

/// `size` zeros. Many of them lie in a temporary file of `node`, so that they take no private memory. `node` may be
/// null. The size must stay as it is. Throws SystemError when the disk has no room.
inline GrowingColumn<double> file_content(const NodeStore* node, std::size_t size) {
  if (node == nullptr) return GrowingColumn<double>(size, nullptr);
  const BoundedReading bound = node->bounded_reading();
  return GrowingColumn<double>(size, reading_bound());
}

/// Private bytes of `file_content`.
inline double content_bytes(const NodeStore* node, std::size_t size) {
  const double bytes = static_cast<double>(sizeof(double)) * static_cast<double>(size);
  if (node == nullptr) return bytes;
  const BoundedReading bound = node->bounded_reading();
  return GrowingColumn<double>::leaves_memory(size, reading_bound()) ? 0 : bytes;
}

}  // namespace strobe
