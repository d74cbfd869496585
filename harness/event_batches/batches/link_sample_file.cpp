#include "harness/event_batches/batches/link_sample_file.hpp"

#include <fmt/format.h>

#include "harness/files/vertex_ids.hpp"
#include "workloads/storage/atomic_file.hpp"

namespace strobe {
namespace {

constexpr std::size_t piece_bytes = std::size_t{1} << 20;

}  // namespace

void write_link_samples(const std::string& path, const EventCase& c) {
  AtomicFile file(path);
  const VertexColumns columns(vertex_ids(*c.data.graph), {""});
  std::string text = "event,part,group,place,vertex" + columns.header() + "\n";
  const auto put = [&](EdgeId event, const char* part, std::int64_t group, std::size_t place, VertexId vertex) {
    text += fmt::format("{},{},{},{},{}{}\n", event, part, group, place, vertex, columns.cells(&vertex));
  };
  const auto write_full = [&] {
    if (text.size() < piece_bytes) return;
    file.write(text);
    text.clear();
  };
  const EventTaskData& trained = *c.training.task;
  for (EdgeId e = 0; e < c.training_events(); ++e, write_full()) {
    for (std::int64_t group = 0; group < trained.negative_groups; ++group) {
      for (std::int64_t n = 0; n < trained.training_negatives; ++n)
        put(c.training.number(e), "training", group, static_cast<std::size_t>(n),
            trained.candidates->negative(e, n, group));
    }
  }
  const EventTaskData& task = *c.data.task;
  for (EdgeId e = task.split.train_end; e < c.data.graph->events(); ++e, write_full()) {
    const std::vector<VertexId> candidates = task.candidates->evaluation(e, task.evaluation_candidates);
    const char* const part = e < task.split.validation_end ? "validation" : "test";
    for (std::size_t place = 0; place < candidates.size(); ++place) put(e, part, -1, place, candidates[place]);
  }
  file.write(text);
  file.commit();
}

void write_link_ranks(const std::string& path, const EventCase& c, std::span<const double> ranks) {
  AtomicFile file(path);
  const EventTaskData& task = *c.data.task;
  const EventGraph& graph = *c.data.graph;
  const VertexColumns columns(vertex_ids(graph), {"source", "destination"});
  std::string text = "event,part,source,destination,candidates,rank" + columns.header() + "\n";
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const EdgeId e = task.split.train_end + static_cast<EdgeId>(i);
    if (!task.is_judged(e)) continue;
    const std::size_t at = e;
    const VertexId ends[] = {graph.source[at], graph.target[at]};
    text += fmt::format("{},{},{},{},{},{:.17g}{}\n", e, e < task.split.validation_end ? "validation" : "test", ends[0],
                        ends[1], 1 + task.candidates->evaluation(e, task.evaluation_candidates).size(), ranks[i],
                        columns.cells(ends));
    if (text.size() < piece_bytes) continue;
    file.write(text);
    text.clear();
  }
  file.write(text);
  file.commit();
}

}  // namespace strobe
