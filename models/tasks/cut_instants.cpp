#include "models/tasks/cut_instants.hpp"

#include <fmt/format.h>

namespace strobe {

void BatchBegins::add(const EventGraph& graph, EdgeId first, EdgeId last, std::int64_t size) {
  for (EdgeId begin = first; begin < last; begin += size) {
    const std::size_t at = begin;
    ++batches;
    if (begin > 0 && graph.time[at - 1] == graph.time[at]) ++amid_instant;
  }
}

std::string BatchBegins::note(const std::string& which) const {
  if (amid_instant == 0) return {};
  return fmt::format(
      "{} of {} {} batches begin between events of one time, so results depend on the order in which "
      "the file lists these events",
      amid_instant, batches, which);
}

void note_cut_instants(const EventGraph& graph, const TimeSplit& split, std::int64_t size,
                       std::vector<std::string>& notes) {
  BatchBegins begins;
  begins.add(graph, split.train_end, split.validation_end, size);
  begins.add(graph, split.validation_end, graph.events(), size);
  if (begins.amid_instant > 0) notes.push_back(begins.note("validation and test"));
}

}  // namespace strobe
