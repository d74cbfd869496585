// One rank's access to a copy of node memory that a daemon keeps for all ranks of its group.
#pragma once

#include <vector>

#include "harness/event_batches/groups/group_memory.hpp"
#include "harness/event_batches/groups/memory_channels.hpp"

namespace strobe {

class SharedMemory final : public GroupMemory {
 public:
  SharedMemory(Device& device, Communicator& communicator, const TrainingGroups& groups, const MemoryShape& shape);

  void begin(std::int64_t sequence, bool resets) override { channels_.begin(sequence, resets); }
  void ask(const std::vector<SharedDraw>& drawn) override;
  std::vector<ComingRows> read(const std::vector<SharedDraw>& drawn, const std::vector<MemoryLists>& lists) override;
  void write(const SharedDraw& drawn, const MemoryLists& lists, const Tensor& updated) override;
  void finish() override { channels_.finish(); }

  std::int64_t saved_values() const override { return channels_.saved_values(); }
  std::vector<double> save() override { return channels_.save(); }
  void restore(const std::vector<double>& values) override { channels_.restore(values); }

 private:
  ComingRows read_set(std::size_t set, const SharedDraw& drawn);

  Device& device_;
  MemoryShape shape_;
  MemoryChannels channels_;
  std::vector<DeviceEvent> answered_;  // by set
  std::vector<DeviceEvent> moved_;     // by set: the channel's answer has been copied out
};

}  // namespace strobe
