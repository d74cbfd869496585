// Names of vertices on their way from a file's text to the graph and out again.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/graph/graph.hpp"
#include "workloads/reading/ids/name_table.hpp"
#include "workloads/storage/binary_file.hpp"
#include "workloads/storage/growing_column.hpp"

namespace strobe {

/// Gives each vertex the name whose number is its original id.
void name_vertices(const NameTable& names, EventGraph& graph);

/// The same where sources and targets may have separate tables. A two-sided graph whose sides are not separated yet has
/// [2 * vertices] names: first those of its vertices as sources, then as targets, "" where a vertex is on one side
/// only. `settle_ids` makes [vertices] of them.
void name_vertices(const NameTable& sources, const NameTable& targets, EventGraph& graph);

/// Gives a two-sided graph the names [vertices] of its targets; its sources have none.
void name_targets(const std::vector<std::string>& names, EventGraph& graph);

/// Whether the names are those of two sides that are not separated yet.
bool names_by_side(const EventGraph& graph);

/// For sides that stay one: a vertex that is on both sides, under different names, makes the graph nameless, which a
/// note says.
void join_names_of_sides(EventGraph& graph);

/// Collects names. Under a bound of memory, many of them lie in temporary files.
class NameWriter {
 public:
  void add(std::string_view name);
  NameColumn finish() { return {bytes_.finish(), ends_.finish()}; }

 private:
  GrowingColumn<std::int8_t> bytes_;
  GrowingColumn<std::int64_t> ends_;
};

/// Whether every vertex has a name and all names differ, so that names alone identify vertices.
bool names_tell_apart(const NameColumn& names);

/// The sections `name_ends` and `name_bytes` of a file of `vertices` vertices; empty when the file has none. Refuses
/// ends that are out of order. The names are a view of the file.
NameColumn names_of(const BinaryFile& file, std::int64_t vertices);

}  // namespace strobe
