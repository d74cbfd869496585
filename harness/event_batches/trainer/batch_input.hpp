// A drawn batch on the device: its lists, its times, and the features of its events and vertices.
#pragma once

#include "backends/device.hpp"
#include "backends/host/host_work.hpp"
#include "harness/event_batches/batches/batch_draw.hpp"
#include "harness/event_batches/memory/node_memory.hpp"

namespace strobe {

struct BatchInput {
  MemoryLists lists;
  Tensor mail_dt;                  // [M, 1]
  Tensor mail_edge;                // [M, d_e] or undefined
  EmbedInput embed;                // without memory and pass
  std::vector<Tensor> pair_codes;  // i64 [E C, 1] each, or none
  DeviceEvent lists_there, values_there;

  /// Makes later computations wait until the device has all of the batch.
  void await_on(Device& device) const {
    device.wait(Stream::compute, lists_there);
    device.wait(Stream::compute, values_there);
  }
};

/// Packs batches of the events `data` on the host and moves them to the device, while it computes. Each rank needs its
/// own loader, because it keeps the transfer buffers.
class BatchLoader {
 public:
  BatchLoader(const EventData& data, Device& device) : data_(data), device_(device) {}
  BatchInput load(const SharedDraw& drawn);

 private:
  /// A buffer for values of one kind, with all sections of a batch end to end.
  struct Travel {
    HostMemory buffer;
    DeviceEvent moved;
  };

  /// Elements of both buffers. `features` are part of `reals`.
  struct Extent {
    std::int64_t numbers = 0, reals = 0, features = 0;
  };

  Extent extent_of(const BatchDraw& drawn) const;
  void make_room(Travel& travel, std::uint64_t bytes);
  HostWork packing_lists(const SharedDraw& drawn, std::int64_t elements) const;
  HostWork slicing_features(const SharedDraw& drawn, const Extent& extent) const;
  Tensor bring(Travel& travel, std::int64_t elements, ElementType type, const HostWork& packing);

  const EventData& data_;
  Device& device_;
  Travel numbers_, reals_;
};

}  // namespace strobe
