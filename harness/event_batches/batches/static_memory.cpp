#include "harness/event_batches/batches/static_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "backends/device.hpp"
#include "harness/event_batches/batches/static_training.hpp"

namespace strobe {
namespace {

std::unique_ptr<Device> device_of(const Case& request) {
  DeviceRequest wanted;
  wanted.precision = request.precision == "fp64" ? ElementType::f64 : ElementType::f32;
  wanted.threads = request.threads;
  wanted.host_threads = request.host_threads;
  return DeviceRegistry::instance().find("cpu", "/device").value(wanted);
}

/// From the first thing that the device did to the last one.
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

void StaticMemory::prepare() const {
  std::call_once(trained_, [this] {
    const std::unique_ptr<Device> device = device_of(case_.request);
    StaticTraining training(case_, *device);
    const std::int64_t epochs = case_.model->traits().static_memory.epochs;
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
        case_.training_events(), epochs, seconds, first, last);
  });
}

std::string StaticMemory::remark() const { return remark_; }

std::shared_ptr<const StaticMemory> static_memory_of(const EventCase& c) {
  const EventModelTraits traits = c.model->traits();
  if (traits.static_memory.kind != StaticMemoryWish::Kind::pretrained) return nullptr;
  static std::mutex mutex;
  static std::string key;
  static std::shared_ptr<const StaticMemory> kept;
  static std::shared_ptr<const EventTaskData> trained_on;
  const std::lock_guard lock(mutex);
  const std::string wanted = c.request.model.dump() + c.request.precision + std::to_string(c.request.seed);
  if (kept == nullptr || wanted != key || trained_on != c.training.task) {
    kept = std::make_shared<const StaticMemory>(c);
    key = wanted;
    trained_on = c.training.task;
  }
  return kept;
}

}  // namespace strobe
