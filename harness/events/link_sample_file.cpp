#include "harness/events/link_sample_file.hpp"

#include <fmt/format.h>

#include "workloads/storage/atomic_file.hpp"

namespace strobe {

void write_link_samples(const std::string& path, const EventData& data) {
  const EventTaskData& task = *data.task;
  AtomicFile file(path);
  std::string text = "event,part,group,place,vertex\n";
  const auto put = [&](EdgeId event, const char* part, std::int64_t group, std::size_t place, VertexId vertex) {
    text += fmt::format("{},{},{},{},{}\n", event, part, group, place,
                        data.graph->original_id[static_cast<std::size_t>(vertex)]);
  };
  for (EdgeId e = 0; e < data.graph->events(); ++e) {
    if (e < task.split.train_end) {
      for (std::int64_t group = 0; group < task.negative_groups; ++group) {
        for (std::int64_t n = 0; n < task.training_negatives; ++n)
          put(e, "training", group, static_cast<std::size_t>(n), task.candidates->negative(e, n, group));
      }
    } else {
      const std::vector<VertexId> candidates = task.candidates->evaluation(e, task.evaluation_candidates);
      const char* const part = e < task.split.validation_end ? "validation" : "test";
      for (std::size_t place = 0; place < candidates.size(); ++place) put(e, part, -1, place, candidates[place]);
    }
    if (text.size() < (std::size_t{1} << 20)) continue;
    file.write(text);
    text.clear();
  }
  file.write(text);
  file.commit();
}

}  // namespace strobe
