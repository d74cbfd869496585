// Strobe's binary snapshots as a format, so that --workload takes such a file like any other file of steps.
// Returns the steps as they were written; the provenance keeps the SHA-256 and counts of the first source.
#include "workloads/binary/binary_snapshots.hpp"
#include "workloads/graph/plugins.hpp"

namespace strobe {
namespace {

int probe_strobe_snapshots(std::string_view head, std::string_view) {
  return head.substr(0, 8) == "STROBES\n" ? 100 : 0;
}

SnapshotGraph read_strobe_snapshots(const std::string& path) {
  SnapshotGraph graph = read_binary_snapshots(path);
  graph.provenance.notes.push_back("converted from " + graph.provenance.source + " (" + graph.provenance.format + ")");
  graph.provenance.format = "strobe-snapshots";
  graph.provenance.source = path;
  return graph;
}

const Register<FormatTag> strobe_snapshots_registered{{"strobe-snapshots",
                                                       "Strobe's own binary steps: mapped, versioned, checksummed",
                                                       "this project",
                                                       {},
                                                       {probe_strobe_snapshots, nullptr, read_strobe_snapshots},
                                                       {}}};

}  // namespace
}  // namespace strobe
