#include "harness/event_batches/batches/batch_schedule_file.hpp"

#include <fmt/format.h>

#include "workloads/storage/atomic_file.hpp"

namespace strobe {

void write_batch_schedule(const std::string& path, const EventData& data, const BatchOrder& order,
                          std::int64_t epochs) {
  AtomicFile file(path);
  file.write("iteration,trainer,copy,sweep,first_event,last_event,negatives,operation\n");
  const std::int64_t iterations = order.first_iteration(epochs);
  for (std::int64_t n = 0; n < iterations; ++n) {
    std::string text;
    for (const char* operation : {"read", "train", "write"}) {
      const bool trains = operation[0] == 't';
      for (int rank = 0; rank < order.groups().ranks(); ++rank) {
        const std::optional<TrainerTurn> turn = order.turn(n, rank);
        if (!turn || turn->count == 0 || (!trains && turn->set != 0)) continue;
        text += fmt::format("{},{},{},{},{},{},{},{}\n", n, rank, turn->copy, turn->sweep, data.number(turn->first),
                            data.number(turn->first + turn->count - 1), turn->group, operation);
      }
    }
    file.write(text);
  }
  file.commit();
}

}  // namespace strobe
