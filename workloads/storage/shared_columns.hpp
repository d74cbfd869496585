// Arrays that every process of a node has computed for itself, kept once for all of them.
#pragma once

#include <vector>

#include "workloads/storage/column.hpp"
#include "workloads/storage/node_store.hpp"

namespace strobe {

/// Replaces the columns by views of one file of `node`. Its name is the digest of the values, so processes share a file
/// only if their values are equal. The first process writes it. Without a node, or when the file cannot be written, the
/// columns stay as they are, and so does a view of another file. T: std::int32_t, std::uint32_t, std::int64_t or
/// double. Cost: a digest of all values. Throws what NodeStore::get throws.
template <class T>
void share_columns(const NodeStore* node, const std::vector<Column<T>*>& columns);

}  // namespace strobe
