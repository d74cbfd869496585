#include "harness/event_batches/groups/memory_lanes.hpp"

#include <cstring>

#include "backends/host/host_work.hpp"

namespace strobe {
namespace {

template <class Real>
void to_doubles(const std::byte* from, std::vector<double>& to) {
  const auto* const values = reinterpret_cast<const Real*>(from);
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = static_cast<double>(values[i]);
}

template <class Real>
void from_doubles(const std::vector<double>& from, std::byte* to) {
  auto* const values = reinterpret_cast<Real*>(to);
  for (std::size_t i = 0; i < from.size(); ++i) values[i] = static_cast<Real>(from[i]);
}

}  // namespace

MemoryLanes::MemoryLanes(Device& device, Communicator& communicator, const TrainingGroups& groups,
                         const MemoryShape& shape)
    : device_(device),
      communicator_(communicator),
      groups_(groups),
      shape_(shape),
      copy_(static_cast<std::size_t>(groups.copy_of(communicator.rank()))),
      trainer_(communicator.rank() % groups.in_group()) {}

void MemoryLanes::command(const MemoryRequestHeader& header) {
  device_.await(led_);  // the daemon has read the last request, so the lane may be overwritten
  TrainerLane& to = lane(leader_lane);
  std::memcpy(to.request().raw(), &header, sizeof header);
  led_ = to.ask({led_});
}

void MemoryLanes::begin(std::int64_t sequence, bool resets) {
  if (leads()) command({MemoryRequestHeader::begin, sequence, resets ? 1 : 0, 0, 0});
}

Event MemoryLanes::put_list(TrainerLane& to, const MemoryRequestHeader& header, const VertexList& list,
                            const Event& after) {
  const auto bytes = static_cast<double>(header.vertices) * sizeof(std::int64_t);
  HostWork work{"ask_memory", {0, bytes, bytes}, 0, {}, {}};
  work.serial = true;
  work.body = [request = to.request(), header, list](Workers&) {
    std::memcpy(request.raw(), &header, sizeof header);
    if (list != nullptr && !list->empty())
      std::memcpy(request.raw() + sizeof header, list->data(), list->size() * sizeof(std::int64_t));
  };
  work.after = {after};
  return device_.run_on_host(std::move(work));
}

void MemoryLanes::finish() {
  device_.await(written_);
  device_.await(led_);
}

std::vector<double> MemoryLanes::save() {
  finish();
  if (!leads() || !shape_.values) return {};
  command({MemoryRequestHeader::give, 0, 0, 0, 0});
  device_.await(led_);
  std::vector<double> values(static_cast<std::size_t>(3 * shape_.vertices * shape_.width));
  const std::byte* const from = lane(leader_lane).answer().raw();
  shape_.type == ElementType::f64 ? to_doubles<double>(from, values) : to_doubles<float>(from, values);
  return values;
}

void MemoryLanes::restore(const std::vector<double>& values) {
  finish();
  std::byte* const to = lane(leader_lane).request().raw() + sizeof(MemoryRequestHeader);
  shape_.type == ElementType::f64 ? from_doubles<double>(values, to) : from_doubles<float>(values, to);
  command({MemoryRequestHeader::take, 0, 0, 0, 0});
  device_.await(led_);
}

}  // namespace strobe
