// One rank's access to a copy of node memory that a daemon keeps for all ranks of its group.
#pragma once

#include <vector>

#include "harness/event_batches/groups/group_memory.hpp"
#include "harness/event_batches/groups/memory_lanes.hpp"

namespace strobe {

class SharedMemory final : public GroupMemory {
 public:
  SharedMemory(Device& device, Communicator& communicator, const TrainingGroups& groups, const MemoryShape& shape);

  void begin(std::int64_t sequence, bool resets) override { lanes_.begin(sequence, resets); }
  void ask(const std::vector<SharedDraw>& drawn) override;
  std::vector<ComingRows> read(const std::vector<SharedDraw>& drawn, const std::vector<MemoryLists>& lists) override;
  void write(const SharedDraw& drawn, const MemoryLists& lists, const Tensor& updated) override;
  void finish() override { lanes_.finish(); }

  std::int64_t saved_values() const override { return lanes_.saved_values(); }
  std::vector<double> save() override { return lanes_.save(); }
  void restore(const std::vector<double>& values) override { lanes_.restore(values); }

 private:
  ComingRows read_set(std::size_t set, const SharedDraw& drawn);

  Device& device_;
  MemoryShape shape_;
  MemoryLanes lanes_;
  std::vector<Event> answered_;  // by set
  std::vector<Event> moved_;     // by set: the lane's answer has been copied out
};

}  // namespace strobe
