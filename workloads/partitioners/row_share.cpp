#include "workloads/partitioners/row_share.hpp"

#include <algorithm>
#include <string>

#include "workloads/partitioners/packed_values.hpp"
#include "workloads/partitioners/run_exchanges.hpp"

namespace strobe {

std::vector<Reading> readings_of_others(const PreparedGraph& graph, Step t, const ShareHolders& holders) {
  std::vector<Reading> told;
  if (!holders.several()) return told;
  const std::vector<std::string> received = holders.exchange([&] {
    std::vector<std::int64_t> ends;
    for (int process = 0; process < holders.size; ++process) {
      const Run share = even_share(graph.vertices, holders.size, process);
      ends.push_back(share.first + share.count);
    }
    std::vector<std::vector<Reading>> readings(holders.size);
    const auto tell = [&](VertexId read, VertexId reader) {
      const auto owner = std::upper_bound(ends.begin(), ends.end(), read) - ends.begin();
      if (owner != holders.rank) readings[owner].push_back({read, reader});
    };
    RowShare{graph, even_share(graph.vertices, holders.size, holders.rank), {}}.for_readings(t, tell, [](VertexId) {});
    return packed_each(readings);
  });
  for (const std::string& bytes : received) {
    const auto readings = Unpacker(bytes).next<Reading>();
    told.insert(told.end(), readings.begin(), readings.end());
  }
  return told;
}

RowShare row_share(const PreparedGraph& graph, const ShareHolders& holders) {
  RowShare share{graph, even_share(graph.vertices, holders.size, holders.rank), {}};
  holders.together([] {});  // all are here before the first exchange
  if (!holders.several()) return share;
  run_exchanges(holders, [&](const ShareHolders& all) {
    for (Step t = 0; t < graph.steps; ++t) share.others.push_back(readings_of_others(graph, t, all));
  });
  return share;
}

}  // namespace strobe
