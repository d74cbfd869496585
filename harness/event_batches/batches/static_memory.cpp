#include "harness/event_batches/batches/static_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "backends/device.hpp"
#include "harness/event_batches/batches/static_training.hpp"

namespace strobe {
namespace {

std::unique_ptr<Device> device_of(bool fp64, std::int64_t threads, std::int64_t host_threads) {
  DeviceRequest wanted;
  wanted.rank = -1;  // of no rank, so that its memory goes back to the system at its end
  wanted.precision = fp64 ? ElementType::f64 : ElementType::f32;
  wanted.threads = threads;
  wanted.host_threads = host_threads;
  return DeviceRegistry::instance().find(host_device, "/device").value(wanted);
}

/// Whether a rank of the column lacks its vectors. All train then, because they need each other.
bool any_lacks(Communicator& column, bool own) {
  std::int64_t lacks = own ? 1 : 0;
  const Tensor flag = column.device().move_in(&lacks, 1, 1, ElementType::i64);
  column.all_reduce(flag, Traffic::other, Reduction::max);
  column.device().move_out(flag, &lacks);
  return lacks > 0;
}

}  // namespace

void StaticMemory::prepare(std::int64_t threads, std::int64_t host_threads, Communicator* column) const {
  const std::lock_guard lock(mutex_);
  const VertexShare kept = column == nullptr ? VertexShare() : VertexShare{column->rank(), column->size()};
  const bool has = trained_ && (kept_ == kept || kept_.nodes == 1);
  const bool trains = column == nullptr ? !has : any_lacks(*column, !has);
  if (!trains) return;
  train(threads, host_threads, column);
  kept_ = kept;
  if (!std::exchange(trained_, true) && column == nullptr) source_.events = {};
}

void StaticMemory::train(std::int64_t threads, std::int64_t host_threads, Communicator* column) const {
  const std::unique_ptr<Device> device = device_of(fp64_, threads, host_threads);
  StaticTraining training(source_, *device, host_threads, column);
  const std::int64_t epochs = source_.model->traits().static_memory.epochs;
  double first = 0, last = 0, seconds = 0;
  for (std::int64_t epoch = 0; epoch < epochs; ++epoch) {
    const double begin = device->now();
    last = training.epoch(epoch);
    if (epoch == 0) first = last;
    seconds += device->now() - begin;
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
