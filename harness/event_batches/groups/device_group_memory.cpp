#include "harness/event_batches/groups/group_memory.hpp"

namespace strobe {
namespace {

class DeviceGroupMemory final : public GroupMemory {
 public:
  DeviceGroupMemory(Device& device, std::int64_t vertices, std::int64_t width)
      : memory_(make_node_memory(device, vertices, width, false)), states_(vertices * width) {}

  bool reads_by_lists() const override { return true; }
  void begin(std::int64_t, bool resets) override {
    if (resets) memory_->reset();
  }
  std::vector<ComingRows> read(const std::vector<SharedDraw>& drawn, const std::vector<MemoryLists>& lists) override {
    std::vector<ComingRows> rows;
    for (std::size_t set = 0; set < drawn.size(); ++set) rows.push_back({memory_->read(drawn[set], lists[set]), {}});
    return rows;
  }
  void write(const SharedDraw& drawn, const MemoryLists& lists, const Tensor& updated) override {
    memory_->write(drawn, lists, updated);
  }
  void finish() override {}

  std::int64_t saved_values() const override { return 3 * states_; }
  std::vector<double> save() override {
    std::vector<double> values = memory_->memory();
    const std::vector<double> mails = memory_->mails();
    values.insert(values.end(), mails.begin(), mails.end());
    return values;
  }
  void restore(const std::vector<double>& values) override {
    const auto mails = values.begin() + states_;
    memory_->restore({values.begin(), mails}, {mails, values.end()});
  }

 private:
  std::unique_ptr<NodeMemory> memory_;
  std::int64_t states_;  // number of values of memory, without mails
};

}  // namespace

std::unique_ptr<GroupMemory> make_device_group_memory(Device& device, std::int64_t vertices, std::int64_t width) {
  return std::make_unique<DeviceGroupMemory>(device, vertices, width);
}

}  // namespace strobe
