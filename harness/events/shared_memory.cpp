#include "harness/events/shared_memory.hpp"

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

SharedMemory::SharedMemory(Device& device, Communicator& communicator, const TrainingGroups& groups,
                           const MemoryShape& shape)
    : device_(device),
      communicator_(communicator),
      groups_(groups),
      shape_(shape),
      copy_(static_cast<std::size_t>(groups.copy_of(communicator.rank()))),
      trainer_(communicator.rank() % groups.in_group()),
      moved_(static_cast<std::size_t>(groups.j)) {}

void SharedMemory::command(const MemoryRequestHeader& header) {
  device_.await(led_);  // the lane's memory is the trainer's again
  TrainerLane& to = lane(leader_lane);
  std::memcpy(to.request().raw(), &header, sizeof header);
  led_ = to.ask({led_});
}

void SharedMemory::begin(std::int64_t sequence, bool resets) {
  command({MemoryRequestHeader::begin, sequence, resets ? 1 : 0, 0, 0});
}

Event SharedMemory::put_list(TrainerLane& to, const MemoryRequestHeader& header, const SharedDraw& drawn, bool written,
                             const Event& after) {
  const auto bytes = static_cast<double>(header.vertices) * sizeof(std::int64_t);
  HostWork work{"ask_memory", {0, bytes, bytes}, 0, {}, {}};
  work.body = [request = to.request(), header, drawn, written](Workers&) {
    std::memcpy(request.raw(), &header, sizeof header);
    const std::vector<std::int64_t>& list = written ? drawn->written : drawn->vertices;
    std::memcpy(request.raw() + sizeof header, list.data(), list.size() * sizeof(std::int64_t));
  };
  work.after = {after};
  return device_.run_on_host(std::move(work));
}

ComingRows SharedMemory::read(std::int64_t set, const SharedDraw& drawn) {
  TrainerLane& from = lane(read_lane(groups_, trainer_, set));
  Event& moved = moved_[static_cast<std::size_t>(set)];
  const auto count = static_cast<std::int64_t>(drawn->vertices.size());
  const Event asked = put_list(from, {MemoryRequestHeader::read, 0, 0, count, drawn->mails}, drawn, false, moved);
  const Event answered = from.ask({asked, moved});
  ComingRows coming{{device_.allocate(count, shape_.width), device_.allocate(drawn->mails, 2 * shape_.width)},
                    answered};
  const Event free = device_.record(Stream::compute);
  const Tensor& states = coming.rows.memory;
  const Tensor& mails = coming.rows.mail;
  if (count > 0)
    coming.ready = device_.start_stream_in(from.answer().slice(0, states.bytes()), states, {answered, free});
  if (drawn->mails > 0)
    coming.ready = device_.start_stream_in(from.answer().slice(states.bytes(), mails.bytes()), mails, {answered, free});
  moved = coming.ready;
  return coming;
}

void SharedMemory::write(const SharedDraw& drawn, const MemoryLists& lists, const Tensor& updated) {
  TrainerLane& to = lane(write_lane(groups_, trainer_));
  const auto count = static_cast<std::int64_t>(drawn->written.size());
  std::vector<Event> after{put_list(to, {MemoryRequestHeader::write, 0, 0, count, 0}, drawn, true, written_), written_};
  if (count > 0) {
    const Tensor mails = make_mails(device_, lists, updated);
    const Tensor own = device_.allocate(count, updated.columns());
    device_.run(CopyRows{updated, own, lists.own_rows, {}, count, 0, 0, updated.columns(), false});
    const std::uint64_t first = request_rows_at(count);
    after.push_back(device_.start_move_out(own, to.request().slice(first, own.bytes()), {written_}));
    after.push_back(device_.start_move_out(mails, to.request().slice(first + own.bytes(), mails.bytes()), {written_}));
    device_.wait(Stream::compute, after.back());  // both are given back behind the copies
  }
  written_ = to.ask(std::move(after));
}

void SharedMemory::finish() {
  device_.await(written_);
  device_.await(led_);
}

std::vector<double> SharedMemory::save() {
  finish();
  if (!shape_.values) return {};
  command({MemoryRequestHeader::give, 0, 0, 0, 0});
  device_.await(led_);
  std::vector<double> values(static_cast<std::size_t>(3 * shape_.vertices * shape_.width));
  const std::byte* const from = lane(leader_lane).answer().raw();
  shape_.type == ElementType::f64 ? to_doubles<double>(from, values) : to_doubles<float>(from, values);
  return values;
}

void SharedMemory::restore(const std::vector<double>& values) {
  finish();
  std::byte* const to = lane(leader_lane).request().raw() + sizeof(MemoryRequestHeader);
  shape_.type == ElementType::f64 ? from_doubles<double>(values, to) : from_doubles<float>(values, to);
  command({MemoryRequestHeader::take, 0, 0, 0, 0});
  device_.await(led_);
}

}  // namespace strobe
