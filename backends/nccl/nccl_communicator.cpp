// Invariants: nothing here waits without a limit; NCCL and CUDA are only polled, between looks at the deadline, at the
// stop signal and for word of a failure, and a rank that gives up aborts its communicator, so that its streams become
// idle. The communicate stream waits for the compute stream when a collective is started, and the compute stream for
// the collective when it has been waited for. A message that is started is given to NCCL when a message is waited for,
// or with the next collective, all messages in one group: kernels on one stream run one after the other, and a send
// that waits for its receiver would hold up the receive after it. For the same reason nothing is given to NCCL on one
// communicator of a rank before what another was given is on the stream: the order there is the order of starting.
// Cost: one NCCL group per collective; all_gather_v and reduce_scatter with uneven parts are P broadcasts, or
// reductions, in one group. Source: NVIDIA, NCCL User Guide, sections "Group Calls", "Fault Tolerance" and
// "Non-blocking Communicators".
#include "backends/nccl/nccl_communicator.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "backends/agreement.hpp"
#include "backends/cuda/runtime.hpp"

namespace strobe::nccl {
namespace {

constexpr std::size_t token_bytes = 256;
constexpr double end_seconds = 20;          // for leaving in good order
constexpr double least_start_seconds = 60;  // NCCL opens connections and loads kernels, however short a collective is

const std::byte* rows_of(const Tensor& tensor, const PeerRows& rows) {
  return tensor.raw() + static_cast<std::size_t>(rows.first) * tensor.row_bytes();
}
std::byte* rows_to(const Tensor& tensor, const PeerRows& rows) {
  return tensor.raw() + static_cast<std::size_t>(rows.first) * tensor.row_bytes();
}
std::size_t bytes_of(const Tensor& tensor, const PeerRows& rows) {
  return static_cast<std::size_t>(rows.count) * tensor.row_bytes();
}

/// Whether all parts are alike and follow each other, as NCCL's own all-gather wants them.
bool even(const std::vector<PeerRows>& rows) {
  for (std::size_t rank = 0; rank < rows.size(); ++rank) {
    const auto first = static_cast<std::int64_t>(rank) * rows[0].count;
    if (rows[rank].count != rows[0].count || rows[rank].first != first) return false;
  }
  return true;
}

std::string_view name_of(const Collective& collective) { return collective_names[static_cast<int>(collective.kind)]; }

/// A timeout of NCCL, which does not tell which rank is late.
class LateSomewhere final : public CollectiveTimeout {
 public:
  LateSomewhere(std::string_view what, int rank, double seconds)
      : CollectiveTimeout(std::string(what), rank, seconds, {}),
        text_(fmt::format("rank {} waited {:.1f} s in {}; NCCL does not say which rank is late", rank, seconds, what)) {
  }
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::string text_;
};

bool is_message(const Collective& collective) {
  return collective.kind == CollectiveKind::send || collective.kind == CollectiveKind::receive;
}

}  // namespace

NcclCommunicator::NcclCommunicator(Device& device, int rank, const LaunchRequest& request, const calls::UniqueId& id,
                                   Peers& peers)
    : Communicator(device, rank, request.ranks, request.timeout_seconds),
      stream_(device.native_queue("cuda", Stream::communicate).value()),
      own_family_(std::make_unique<Family>()),
      family_(own_family_.get()),
      peers_(peers) {
  family_->token = cuda::runtime::allocate(token_bytes, stream());
  if (family_->token == nullptr) {
    throw OutOfMemory(rank, token_bytes, device.live_bytes(), device.memory_limit_bytes());
  }
  cuda::runtime::fill_bytes(family_->token, 0, token_bytes, stream());
  try {
    handle_ = calls::begin(size(), id, rank);
    const double seconds = std::max(least_start_seconds, timeout_seconds());
    poll("the start of NCCL", seconds, [&] { return !calls::in_progress(handle_); });
  } catch (...) {
    if (handle_ != nullptr) calls::abort(handle_);
    cuda::runtime::release(family_->token, stream());
    throw;
  }
}

NcclCommunicator::NcclCommunicator(NcclCommunicator& parent, calls::Handle handle, std::unique_ptr<Peers> peers,
                                   MemberRanks members, int rank)
    : Communicator(parent.device(), rank, std::move(members), parent.timeout_seconds()),
      stream_(parent.stream_),
      family_(parent.family_),
      own_peers_(std::move(peers)),
      peers_(*own_peers_),
      handle_(handle) {}

NcclCommunicator::~NcclCommunicator() {
  if (own_family_ == nullptr) return;
  bool clean = !has_operations_under_way();
  try {
    if (clean) end_all();
  } catch (const std::exception&) {
    clean = false;  // why the others do not come is theirs to say
  }
  if (!clean) {
    for (auto group = family_->groups.rbegin(); group != family_->groups.rend(); ++group) {
      if (**group != nullptr) calls::abort(**group);
    }
    calls::abort(handle_);
  }
  cuda::runtime::release(family_->token, stream());
}

/// Leaves what is there in good order, the last group first, which is the same order on all ranks.
void NcclCommunicator::end_all() {
  const auto end = [this](calls::Handle handle) {
    calls::begin_end(handle);
    const Patience patience(end_seconds);
    while (calls::in_progress(handle)) {
      peers_.check();
      if (patience.over()) throw SystemError("nccl: ranks did not end together");
      patience.pause();
    }
    calls::destroy(handle);
  };
  for (; !family_->groups.empty(); family_->groups.pop_back()) {
    if (*family_->groups.back() != nullptr) end(*family_->groups.back());
  }
  end(handle_);
}

std::unique_ptr<Communicator> NcclCommunicator::do_split(const RankGroups& groups, const OwnGroup& own) {
  ++family_->under_way;  // until all is well, as a split that does not complete has to be aborted
  check_agreement(groups);
  const int color = own.rank < 0 ? -1 : static_cast<int>(own.index);
  family_->groups.push_back(std::make_unique<calls::Handle>(nullptr));
  calls::Handle* const made = family_->groups.back().get();
  calls::begin_split(handle_, color, rank(), made);
  poll("a split", std::max(least_start_seconds, timeout_seconds()), [&] { return !calls::in_progress(handle_); });
  --family_->under_way;
  if (own.rank < 0) return nullptr;
  MemberRanks group = members_of(groups[own.index]);
  std::unique_ptr<Peers> peers = peers_.split(own.split, own.index, group, own.rank);
  return std::unique_ptr<Communicator>(
      new NcclCommunicator(*this, *made, std::move(peers), std::move(group), own.rank));
}

/// Ranks of several processes cannot compare what they call in any other way.
void NcclCommunicator::check_agreement(const RankGroups& groups) {
  const std::int64_t print = fingerprint(groups);
  const std::int64_t own[] = {print, ~print};  // the largest of the second is the smallest of the first
  std::int64_t largest[2] = {};
  std::byte* const words = family_->token + token_bytes / 2;
  cuda::runtime::copy(words, own, sizeof(own), stream());
  calls::group_begin();
  calls::all_reduce(handle_, words, words, 2, ElementType::i64, Reduction::max, stream());
  calls::group_end();
  poll("a split", timeout_seconds(), [&] { return !calls::in_progress(handle_); });
  const DeviceEvent end = device().record(Stream::communicate);
  poll("a split", timeout_seconds(), [&] {
    (void)calls::in_progress(handle_);  // throws what went wrong meanwhile
    return cuda::runtime::complete(end.native.get());
  });
  cuda::runtime::copy(largest, words, sizeof(largest), stream());  // host memory that is not pinned: complete on return
  if (largest[0] != own[0] || largest[1] != own[1]) throw Error("ranks disagree: split: they give other groups");
}

template <class Done>
void NcclCommunicator::poll(std::string_view what, double seconds, const Done& done) {
  const Patience patience(seconds);
  while (!done()) {
    peers_.check();
    if (patience.over()) throw LateSomewhere(what, world_rank(rank()), seconds);
    patience.pause();
  }
}

std::shared_ptr<void> NcclCommunicator::do_start(const Collective& collective) {
  auto posted = std::make_shared<Posted>();
  posted->started_seconds = device().now();
  posted->place = peers_.enter(collective, posted->started_seconds);
  ++family_->under_way;
  if (is_message(collective)) {
    messages_.push_back({collective, posted});
  } else {
    give_messages();
    give({collective}, {posted});
  }
  return posted;
}

void NcclCommunicator::give_messages() {
  if (messages_.empty()) return;
  std::vector<Collective> collectives;
  std::vector<PostedPointer> posted;
  for (Message& message : messages_) {
    collectives.push_back(std::move(message.collective));
    posted.push_back(std::move(message.posted));
  }
  messages_.clear();
  give(collectives, posted);
}

void NcclCommunicator::give(const std::vector<Collective>& collectives, const std::vector<PostedPointer>& posted) {
  const std::string_view what = name_of(collectives.front());
  settle(what);
  device().wait(Stream::communicate, device().record(Stream::compute));
  const DeviceEvent begin = device().record(Stream::communicate);
  for (const PostedPointer& one : posted) one->begin = begin;
  family_->given = handle_;
  family_->unsettled = posted;
  calls::group_begin();
  try {
    for (const Collective& collective : collectives) give_one(collective);
  } catch (...) {
    try {
      calls::group_end();  // the thread's next group must not be a part of this one
    } catch (const std::exception&) {
      // The first error is reported.
    }
    throw;
  }
  calls::group_end();
  if (!calls::in_progress(handle_)) settle(what);
}

void NcclCommunicator::settle(std::string_view what) {
  if (family_->unsettled.empty()) return;
  poll(what, timeout_seconds(), [&] { return !calls::in_progress(family_->given); });
  const DeviceEvent end = device().record(Stream::communicate);
  for (const PostedPointer& one : family_->unsettled) one->end = end;
  family_->unsettled.clear();
}

void NcclCommunicator::give_one(const Collective& c) {
  const Tensor& send = c.send;
  const Tensor& receive = c.receive;
  switch (c.kind) {
    case CollectiveKind::all_to_all_v:
      return exchange(c);
    case CollectiveKind::all_gather_v:
      return gather(c);
    case CollectiveKind::reduce_scatter:
      return reduce_parts(c);
    case CollectiveKind::all_reduce:
      if (send.elements() == 0) return;
      return calls::all_reduce(handle_, send.raw(), receive.raw(), static_cast<std::size_t>(send.elements()),
                               send.type(), c.reduction, stream());
    case CollectiveKind::broadcast:
      if (send.bytes() == 0) return;
      return calls::broadcast(handle_, send.raw(), receive.raw(), send.bytes(), c.peer, stream());
    case CollectiveKind::send:
      if (send.bytes() == 0) return;
      return calls::send(handle_, send.raw(), send.bytes(), c.peer, stream());
    case CollectiveKind::receive:
      if (receive.bytes() == 0) return;
      return calls::receive(handle_, receive.raw(), receive.bytes(), c.peer, stream());
    case CollectiveKind::barrier:
      return calls::all_reduce(handle_, family_->token, family_->token, 1, ElementType::i32, Reduction::sum, stream());
  }
}

void NcclCommunicator::exchange(const Collective& c) {
  // Each rank begins with its neighbour, so that not all of them send to rank 0 first.
  for (int step = 1; step < size(); ++step) {
    const int to = (rank() + step) % size(), from = (rank() + size() - step) % size();
    const PeerRows& out = c.send_rows[to];
    const PeerRows& in = c.receive_rows[from];
    if (bytes_of(c.send, out) != 0) calls::send(handle_, rows_of(c.send, out), bytes_of(c.send, out), to, stream());
    if (bytes_of(c.receive, in) != 0)
      calls::receive(handle_, rows_to(c.receive, in), bytes_of(c.receive, in), from, stream());
  }
}

void NcclCommunicator::gather(const Collective& c) {
  if (even(c.receive_rows)) {
    if (c.send.bytes() == 0) return;
    return calls::all_gather(handle_, c.send.raw(), c.receive.raw(), c.send.bytes(), stream());
  }
  for (int root = 0; root < size(); ++root) {
    const PeerRows& part = c.receive_rows[root];
    const std::size_t bytes = bytes_of(c.receive, part);
    if (bytes == 0) continue;
    std::byte* const to = rows_to(c.receive, part);
    calls::broadcast(handle_, root == rank() ? c.send.raw() : to, to, bytes, root, stream());
  }
}

void NcclCommunicator::reduce_parts(const Collective& c) {
  const auto elements = [&](const PeerRows& part) { return static_cast<std::size_t>(part.count * c.send.columns()); };
  if (even(c.send_rows)) {
    if (c.receive.elements() == 0) return;
    return calls::reduce_scatter(handle_, c.send.raw(), c.receive.raw(), elements(c.send_rows[0]), c.send.type(),
                                 stream());
  }
  for (int root = 0; root < size(); ++root) {
    const PeerRows& part = c.send_rows[root];
    if (elements(part) == 0) continue;
    calls::reduce(handle_, rows_of(c.send, part), c.receive.raw(), elements(part), c.send.type(), root, stream());
  }
}

Completion NcclCommunicator::do_wait(const Collective& collective, const std::shared_ptr<void>& state) {
  Posted& posted = *static_cast<Posted*>(state.get());
  const double entered = device().now();
  const bool before = posted.end.native != nullptr && cuda::runtime::complete(posted.end.native.get());
  const double ready = peers_.await(collective, posted.place, timeout_seconds());
  if (is_message(collective)) give_messages();
  settle(name_of(collective));
  poll(name_of(collective), timeout_seconds(), [&] {
    (void)calls::in_progress(handle_);  // throws what went wrong meanwhile
    return cuda::runtime::complete(posted.end.native.get());
  });
  device().wait(Stream::compute, posted.end);
  peers_.leave(posted.place);
  --family_->under_way;
  const double took = cuda::runtime::seconds_between(posted.begin.native.get(), posted.end.native.get());
  // Data that was there before is as old as its events say, and no older than its start.
  const double end = before ? std::min(entered, std::max(ready, posted.started_seconds) + took) : device().now();
  return {ready, end, std::max(end - took, posted.started_seconds)};
}

}  // namespace strobe::nccl
