#include "harness/event_batches/groups/memory_channels.hpp"

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

MemoryChannels::MemoryChannels(Device& device, Communicator& communicator, const TrainingGroups& groups,
                               const MemoryShape& shape)
    : device_(device),
      communicator_(communicator),
      groups_(groups),
      shape_(shape),
      copy_(static_cast<std::size_t>(groups.copy_of(communicator.rank()))),
      trainer_(communicator.rank() % groups.in_group()) {}

void MemoryChannels::command(const MemoryRequestHeader& header) {
  device_.await(led_);  // the daemon has read the last request, so the channel may be overwritten
  TrainerChannel& to = channel(leader_channel);
  std::memcpy(to.request().raw(), &header, sizeof header);
  led_ = to.ask({led_});
}

void MemoryChannels::begin(std::int64_t sequence, bool resets, bool evaluates) {
  if (leads()) command({MemoryRequestHeader::begin, sequence, resets ? 1 : 0, 0, 0, evaluates ? 1 : 0});
}

DeviceEvent MemoryChannels::put_list(TrainerChannel& to, const MemoryRequestHeader& header, const VertexList& list,
                                     const DeviceEvent& after) {
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

void MemoryChannels::finish() {
  device_.await(written_);
  device_.await(led_);
}

std::vector<double> MemoryChannels::save() {
  finish();
  if (!leads() || !shape_.values) return {};
  command({MemoryRequestHeader::give, 0, 0, 0, 0});
  device_.await(led_);
  std::vector<double> values(3 * shape_.vertices * shape_.width);
  const std::byte* const from = channel(leader_channel).answer().raw();
  shape_.type == ElementType::f64 ? to_doubles<double>(from, values) : to_doubles<float>(from, values);
  return values;
}

void MemoryChannels::restore(const std::vector<double>& values) {
  finish();
  std::byte* const to = channel(leader_channel).request().raw() + sizeof(MemoryRequestHeader);
  shape_.type == ElementType::f64 ? from_doubles<double>(values, to) : from_doubles<float>(values, to);
  command({MemoryRequestHeader::take, 0, 0, 0, 0});
  device_.await(led_);
}

}  // namespace strobe
