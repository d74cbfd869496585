// Strobe's binary graph as a format, so that --workload takes such a file like any other.
// Returns the events as they were written; the provenance keeps the SHA-256 and counts of the first source.
#include "workloads/binary/binary_graph.hpp"
#include "workloads/graph/plugins.hpp"

namespace strobe {
namespace {

int probe_strobe_binary(std::string_view head, std::string_view) { return head.substr(0, 8) == "STROBEG\n" ? 100 : 0; }

EventGraph read_strobe_binary(const std::string& path) {
  EventGraph graph = read_binary_graph(path);
  graph.provenance.notes.push_back("converted from " + graph.provenance.source + " (" + graph.provenance.format + ")");
  graph.provenance.format = "strobe-binary";
  graph.provenance.source = path;
  return graph;
}

const Register<FormatTag> strobe_binary_registered{{"strobe-binary",
                                                    "Strobe's own binary graph: mapped, versioned, checksummed",
                                                    "this project",
                                                    {},
                                                    {probe_strobe_binary, read_strobe_binary},
                                                    {}}};

}  // namespace
}  // namespace strobe
