#include "harness/event_batches/batches/static_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "backends/device.hpp"
#include "harness/event_batches/batches/static_training.hpp"

namespace strobe {
namespace {

std::unique_ptr<Device> device_of(bool fp64, std::int64_t threads, std::int64_t host_threads) {
  DeviceRequest wanted;
  wanted.precision = fp64 ? ElementType::f64 : ElementType::f32;
  wanted.threads = threads;
  wanted.host_threads = host_threads;
  return DeviceRegistry::instance().find(host_device, "/device").value(wanted);
}

/// Seconds from the begin of the device's first span to the end of its last.
double seconds_of(Device& device) {
  double begin = 0, end = 0;
  bool any = false;
  for (const Span& span : device.spans().spans()) {
    begin = any ? std::min(begin, span.begin_seconds) : span.begin_seconds;
    end = any ? std::max(end, span.end_seconds) : span.end_seconds;
    any = true;
  }
  return end - begin;
}

}  // namespace

void StaticMemory::prepare(std::int64_t threads, std::int64_t host_threads, const VertexShare& kept) const {
  const std::lock_guard lock(mutex_);
  if (trained_ && (kept_ == kept || kept_.nodes == 1)) return;
  train(threads, host_threads);
  trained_ = true, kept_ = kept;
  if (kept.nodes == 1) {
    source_.events = {};
    return;
  }
  const std::int64_t all = static_cast<std::int64_t>(rows_.size()) / width();
  std::vector<float> own;
  own.reserve(static_cast<std::size_t>(kept.count(all) * width()));
  for (std::int64_t v = kept.node; v < all; v += kept.nodes)
    own.insert(own.end(), rows_.begin() + v * width(), rows_.begin() + (v + 1) * width());
  rows_ = std::move(own);
}

void StaticMemory::train(std::int64_t threads, std::int64_t host_threads) const {
  const std::unique_ptr<Device> device = device_of(fp64_, threads, host_threads);
  StaticTraining training(source_, *device, host_threads);
  const std::int64_t epochs = source_.model->traits().static_memory.epochs;
  double first = 0, last = 0, seconds = 0;
  for (std::int64_t epoch = 0; epoch < epochs; ++epoch) {
    last = training.epoch(epoch);
    if (epoch == 0) first = last;
    device->synchronize();
    seconds += seconds_of(*device);
    device->spans().clear();
  }
  rows_ = training.rows();
  remark_ = fmt::format(
      "static node memory was trained beforehand on the {} training events alone: {} epochs in {:.3g} s, "
      "loss {:.4f} to {:.4f}",
      source_.training_events(), epochs, seconds, first, last);
}

std::string StaticMemory::remark() const { return remark_; }

StaticMemoryKey::Value StaticMemoryKey::make(const DataCache& cache) const {
  StaticTrainingSource source;
  source.events = cache.get(draws)->training;
  source.model = EventModelRegistry::instance().find(model.name(), "/model").value(model.json);
  source.task = EventTaskRegistry::instance().find(draws.task.name(), "/task").value(draws.task.json);
  source.seed = static_cast<std::uint64_t>(draws.events.seed);
  return std::make_shared<const StaticMemory>(std::move(source), fp64);
}

std::shared_ptr<const StaticMemory> static_memory_of(const EventCase& c, const DataCache& cache) {
  if (c.model->traits().static_memory.kind != StaticMemoryRequest::Kind::pretrained) return nullptr;
  const DrawsKey draws{{{c.request.workload}, c.request.seed}, {c.request.task}};
  return *cache.get(StaticMemoryKey{draws, {c.request.model}, c.fp64()});
}

}  // namespace strobe
