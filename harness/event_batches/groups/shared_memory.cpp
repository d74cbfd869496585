#include "harness/event_batches/groups/shared_memory.hpp"

namespace strobe {

SharedMemory::SharedMemory(Device& device, Communicator& communicator, const TrainingGroups& groups,
                           const MemoryShape& shape)
    : device_(device),
      shape_(shape),
      channels_(device, communicator, groups, shape),
      answered_(static_cast<std::size_t>(groups.j)),
      moved_(answered_.size()) {}

void SharedMemory::ask(const std::vector<SharedDraw>& drawn) {
  for (std::size_t set = 0; set < drawn.size(); ++set) {
    TrainerChannel& from = channels_.read(static_cast<std::int64_t>(set));
    const std::int64_t count = drawn[set]->vertices.size();
    const DeviceEvent asked = channels_.put_list(from, {MemoryRequestHeader::read, 0, 0, count, drawn[set]->mails},
                                                 VertexList(drawn[set], &drawn[set]->vertices), moved_[set]);
    answered_[set] = from.ask({asked, moved_[set]});
  }
}

std::vector<ComingRows> SharedMemory::read(const std::vector<SharedDraw>& drawn, const std::vector<MemoryLists>&) {
  std::vector<ComingRows> rows;
  for (std::size_t set = 0; set < drawn.size(); ++set) rows.push_back(read_set(set, drawn[set]));
  return rows;
}

ComingRows SharedMemory::read_set(std::size_t set, const SharedDraw& drawn) {
  const HostMemory answer = channels_.read(static_cast<std::int64_t>(set)).answer();
  const DeviceEvent answered = answered_[set];
  const std::int64_t count = drawn->vertices.size();
  ComingRows coming{{device_.allocate(count, shape_.width), device_.allocate(drawn->mails, 2 * shape_.width)},
                    answered};
  const DeviceEvent free = device_.record(Stream::compute);
  const Tensor& states = coming.rows.memory;
  const Tensor& mails = coming.rows.mail;
  if (count > 0) coming.ready = device_.start_stream_in(answer.slice(0, states.bytes()), states, {answered, free});
  if (drawn->mails > 0)
    coming.ready = device_.start_stream_in(answer.slice(states.bytes(), mails.bytes()), mails, {answered, free});
  moved_[set] = coming.ready;
  return coming;
}

void SharedMemory::write(const SharedDraw& drawn, const MemoryLists& lists, const Tensor& updated) {
  TrainerChannel& to = channels_.write();
  const std::int64_t count = drawn->written.size();
  std::vector<DeviceEvent> after{channels_.put_list(to, {MemoryRequestHeader::write, 0, 0, count, 0},
                                                    VertexList(drawn, &drawn->written), channels_.written()),
                                 channels_.written()};
  if (count > 0) {
    const PartScope part(device_, MemoryPart::buffers);
    const Tensor mails = make_mails(device_, lists, updated);
    const Tensor own = device_.allocate(count, updated.columns());
    device_.run(CopyRows{updated, own, lists.own_rows, {}, count, 0, 0, updated.columns(), false});
    const std::uint64_t first = request_rows_at(count);
    after.push_back(device_.start_move_out(own, to.request().slice(first, own.bytes()), {channels_.written()}));
    after.push_back(
        device_.start_move_out(mails, to.request().slice(first + own.bytes(), mails.bytes()), {channels_.written()}));
    device_.wait(Stream::compute, after.back());  // neither tensor is reused before its copy
  }
  channels_.send_write(std::move(after));
}

}  // namespace strobe
