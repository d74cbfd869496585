// Workloads by name, path or generator: the one door through which graphs enter.
#pragma once

#include <iosfwd>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/registry.hpp"
#include "workloads/graph/graph.hpp"

namespace strobe {

/// A file format. `probe` looks at the first bytes (decompressed); `read` parses the whole file and keeps its ids as
/// they are: `read_events` separates the sides of a two-sided graph.
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
    /// The files beside `path` that reading it would read too: labels, features; those that are there. Null when the
    /// format has none.
    std::vector<std::string> (*companions)(const std::string& path) = nullptr;
  };
};
using FormatRegistry = Registry<FormatTag>;

/// A synthetic workload. Parameters come as JSON and are checked against the entry's field table.
struct GeneratorTag {
  static constexpr const char* kind = "generator";
  using Value = SnapshotGraph (*)(const Json& parameters, std::uint64_t seed);
};
using GeneratorRegistry = Registry<GeneratorTag>;

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
    std::string companion = "", companion_sha256 = "";        // a second file that the format reads beside `file`
  };
};
using DatasetRegistry = Registry<DatasetTag>;

/// The format called `format`, or with "" the one that recognises the beginning of the file at `path`. Throws
/// InvalidInput when none does, InvalidRequest for an unknown name.
const FormatTag::Value& find_format(const std::string& path, const std::string& format);

/// Reads the event graph of a file. `format` "" probes; throws InvalidInput when no format recognises it. `ids` is
/// auto, shared or offset, see `settle_ids`; throws InvalidRequest for another word and for a file of steps.
EventGraph read_events(const std::string& path, const std::string& format = "", const std::string& ids = "auto");

/// Windowing and format options that apply to data sets and files (generators have their own tables).
struct FileOptions {
  std::string format;  // "" = detect
  std::string window;  // duration text; "" = the data set's default
  std::int64_t window_events = 0;
  std::int64_t window_count = 0;
  std::string partial = "keep";
  std::string weights = "count";
  std::string orientation = "in";
  std::string ids = "auto";     // auto | shared | offset
  std::string features;         // "" = degrees; own = the file's vertex features; else a .npy file
  std::string labels = "auto";  // timed labels: auto | before | within
  std::string missing;          // value that means "not measured" in a file of steps; "" = none
  bool cumulative = false;
  std::string stride;  // "" = disjoint windows
  std::int64_t lags = 0;
  std::int64_t edge_life = 1;
  std::int64_t min_edges = 0;
  std::string cache = "on";  // on | off
};
const FieldTable& file_option_fields();

/// How `options` cut `events`: as they say; by the file's own steps; or, when times are seconds and nothing was chosen,
/// into 20 equal slices (one when all events have one time), which a sentence in `notes` states.
Windowing windowing_for(const FileOptions& options, const EventGraph& events, std::vector<std::string>& notes);

/// The snapshot graph of `workload`: a data set's name, a generator's name, or the path of a file (including Strobe's
/// own binary graph). `parameters` are FileOptions or the generator's. A file without window options and without steps
/// is cut into 20 equal slices, and says so in its provenance. Throws InvalidRequest for an unknown name (nearest
/// match), InvalidInput for a bad file.
SnapshotGraph load_workload(const std::string& workload, const Json& parameters, std::uint64_t seed);

/// The canonical parameters of `workload` (defaults filled in), for plans and case ids; does not read data.
Json complete_workload_parameters(const std::string& workload, const Json& parameters, const std::string& pointer);

/// The files that `workload` reads and that are there, by what names them: "name" (the workload itself), "features",
/// and "companion FILE" for each that the format finds beside its own. Empty for what is generated. Throws like
/// load_workload.
std::map<std::string, std::string> workload_files(const std::string& workload, const Json& parameters);

/// SHA-256 of the workload's files under the same names, {"name": ..., "companion nodes.csv": ...}, so that what is
/// continued later can be refused on other data. Throws like load_workload.
Json workload_digests(const std::string& workload, const Json& parameters);

/// The event graph of a data set name or path; nothing for generators of snapshots and files of steps.
std::optional<EventGraph> load_events(const std::string& workload, const Json& parameters);

/// Folder of the bundled data: workloads/data of the source or install tree.
std::string data_directory();

/// Where `file` (relative, as a data set names it) lies: $STROBE_DATA_DIR, or without it $XDG_DATA_HOME/strobe or
/// ~/.local/share/strobe; then the bundled data. Without such a file, where a fetched one would be.
std::string find_data_file(const std::string& file);

/// What `strobe inspect --json` prints: vertices, events, first_time, last_time, self_loops, duplicates, steps, edges
/// (summed over steps after windowing), overlap_mean, format, edges_per_step, degree and active-vertex statistics.
Json inspect_workload(const std::string& workload, const Json& parameters, std::uint64_t seed);

// Strobe's binary graph -------------------------------------------------------------------------------------------

/// Writes `graph` atomically (temporary file, fsync, rename), versioned and checksummed, with provenance.
void write_binary_graph(const EventGraph& graph, const std::string& path);
/// Maps it: the columns are views on the file, and what is not used is not read. Throws InvalidInput when it is
/// foreign, of another version, truncated or damaged. A file that changed since it was written (or is a copy) is
/// compared with all its checksums; one that did not only with those of its beginning, unless `verify` asks for all.
EventGraph read_binary_graph(const std::string& path, bool verify = false);
/// Events as CSV in original ids, numbers round-trip exact; format `csv` reads it back. The header is
/// "source,target,time,weight"; the third column is called `step` when times count steps, and the fourth is left out
/// when the graph has no weights. Labels and features are not written. Written atomically like the binary graph.
void write_csv(const EventGraph& graph, const std::string& path);

}  // namespace strobe
