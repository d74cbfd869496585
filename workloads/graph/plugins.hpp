// The types under which workload plug-ins register: formats, generators and data sets.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/registry.hpp"
#include "workloads/graph/graph.hpp"

namespace strobe {

/// A file format. `probe` looks at the first bytes (decompressed). `read` parses the whole file and keeps its ids;
/// `read_events` separates the sides of a two-sided graph.
struct FormatTag {
  static constexpr const char* kind = "format";
  struct Value {
    /// 0 = not this format; larger is surer. `head` is up to 64 KiB of decompressed text, `name` the file's name.
    int (*probe)(std::string_view head, std::string_view name) = nullptr;
    /// Parses decompressed text. Throws InvalidInput(file, line, column, ...) for any malformed line.
    EventGraph (*read)(const std::string& path) = nullptr;
    /// The same for a file that holds steps instead of events; a format has `read` or `read_snapshots`. Rows of a
    /// snapshot are targets, its values the file's; provenance counts the rows of the file.
    SnapshotGraph (*read_snapshots)(const std::string& path) = nullptr;
    /// The files next to `path` that reading it would also read, such as labels and features. Lists only files that
    /// exist. Null when the format has none.
    std::vector<std::string> (*companions)(const std::string& path) = nullptr;
    /// `read` with the file's own names for columns, from the option `columns`. Null when the format has no names.
    EventGraph (*read_columns)(const std::string& path, const std::string& columns) = nullptr;
  };
};
using FormatRegistry = Registry<FormatTag>;

/// A synthetic workload. Parameters come as JSON and are checked against the entry's field table.
struct GeneratorTag {
  static constexpr const char* kind = "generator";
  using Value = SnapshotGraph (*)(const Json& parameters, std::uint64_t seed);
};
using GeneratorRegistry = Registry<GeneratorTag>;

/// A synthetic graph in continuous time. As a workload it also has the options that cut events into steps
/// (workloads/generators/event_generation.hpp), so its own parameters must have other names.
struct EventGeneratorTag {
  static constexpr const char* kind = "generator of events";
  struct Value {
    /// Parameters are complete. Throws InvalidRequest("/NAME", ...) for what cannot be generated or does not fit this
    /// machine's memory, before it takes any.
    EventGraph (*generate)(const Json& parameters, std::uint64_t seed) = nullptr;
    /// Returns `given` (a JSON object) with the missing parameters added that follow from those present; null when
    /// there are none. A complete object is not changed.
    Json (*preset)(const Json& given) = nullptr;
  };
};
using EventGeneratorRegistry = Registry<EventGeneratorTag>;

/// A bundled or catalogued data set.
struct DatasetTag {
  static constexpr const char* kind = "dataset";
  struct Value {
    std::string file;    // relative to the data folder; "" when users must fetch it
    std::string sha256;  // of that file
    std::string origin;  // where users get it
    std::string licence;
    std::string format;                                       // "" = probe
    Windowing windowing;                                      // default windows
    std::int64_t expected_vertices = 0, expected_events = 0;  // checked after reading when not 0
    std::string companion = "", companion_sha256 = "";        // a second file that the format reads with `file`
  };
};
using DatasetRegistry = Registry<DatasetTag>;

}  // namespace strobe
