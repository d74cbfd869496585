// Workloads by name, path or generator: the one door through which graphs enter.
#pragma once

#include <functional>
#include <iosfwd>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/binary/binary_graph.hpp"
#include "workloads/catalog/catalog.hpp"
#include "workloads/graph/file_options.hpp"
#include "workloads/graph/graph.hpp"
#include "workloads/graph/plugins.hpp"

namespace strobe {

/// The format called `format`, or with "" the one that recognises the beginning of the file at `path`. Throws
/// InvalidInput when none does, InvalidRequest for an unknown name.
const FormatTag::Value& find_format(const std::string& path, const std::string& format);

/// The format that reads the columns named by `columns` in the file at `path`: csv where its header has them, else
/// table. Throws InvalidInput for missing columns.
std::string format_of_columns(const std::string& path, const std::string& columns);

/// Reads the event graph of a file. `format` "" probes; throws InvalidInput when no format recognises it. `ids` is
/// auto, shared or offset, see `settle_ids`; throws InvalidRequest for another word and for a file of steps.
EventGraph read_events(const std::string& path, const std::string& format = "", const std::string& ids = "auto");

/// The windowing that `options` request for `events`; by default the file's own steps. When times are seconds and
/// nothing was chosen, it is 20 equal slices (one when all events have one time), which a sentence in `notes` states.
Windowing windowing_for(const FileOptions& options, const EventGraph& events, std::vector<std::string>& notes);

/// The snapshot graph of `workload`: a data set's name, a generator's name, or the path of a file (including Strobe's
/// own binary graph). `parameters` are FileOptions or the generator's. A file without window options and without steps
/// is cut into 20 equal slices, and says so in its provenance. Throws InvalidRequest for an unknown name (nearest
/// match), InvalidInput for a bad file. Generated events are cut like those of a file. `see_events` gets the events of
/// a file before they are cut.
SnapshotGraph load_workload(const std::string& workload, const Json& parameters, std::uint64_t seed,
                            const std::function<void(const EventGraph&)>& see_events = nullptr);

/// The canonical parameters of `workload` (defaults filled in), for plans and case ids; does not read data.
Json complete_workload_parameters(const std::string& workload, const Json& parameters, const std::string& pointer);

/// The files that `workload` reads and that exist, by key: "name" (the workload itself), "features", and "companion
/// FILE" for each that the format finds next to its own. Empty for generated workloads. Throws the same errors as
/// load_workload.
std::map<std::string, std::string> workload_files(const std::string& workload, const Json& parameters);

/// SHA-256 of the workload's files under the same names, {"name": ..., "companion nodes.csv": ...}. A continued run
/// refuses other data by them. Throws like load_workload.
Json workload_digests(const std::string& workload, const Json& parameters);

/// The event graph of a data set's name, of a path, or of a generator of events (`seed` is for it); nothing for
/// generators of snapshots and files of steps. Options that cut events into steps are checked and have no effect.
/// Throws like load_workload.
std::optional<EventGraph> load_events(const std::string& workload, const Json& parameters, std::uint64_t seed = 1);

/// The output of `strobe inspect --json`: vertices, events, first_time, last_time, self_loops, duplicates, steps, edges
/// (summed over steps after windowing), overlap_mean, format, edges_per_step, degree and active-vertex statistics.
Json inspect_workload(const std::string& workload, const Json& parameters, std::uint64_t seed);

/// Events as CSV in original ids, numbers round-trip exact; format `csv` reads it back. The header is
/// "source,target,time,weight"; the third column is called `step` when times count steps, and the fourth is left out
/// when the graph has no weights. Labels and features are not written. Written atomically like the binary graph.
void write_csv(const EventGraph& graph, const std::string& path);

}  // namespace strobe
