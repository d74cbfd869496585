// Carries out the collectives of ranks that share an address space: every task reads the peers' published buffers and
// writes the buffers of one member. Returns the sums of all_reduce and reduce_scatter added in rank order.
// Invariants: no two tasks of one stage write the same bytes, none reads what another writes; all_reduce first puts
// the sum of share r into rank r's own buffer (only task r touches share r of any rank), then each rank copies the
// other shares. Cost: each byte is copied once; all_reduce reads ranks x bytes once in all, then copies ranks x bytes.
#include "backends/local/meeting.hpp"

#include <algorithm>

#include "backends/piece_copy.hpp"

namespace strobe::local {
namespace {

void copy(const Tensor& from, const Tensor& to, Device& device) {
  if (from.has_values() && to.has_values() && to.bytes() != 0 && from.raw() != to.raw()) {
    device.copy_values(to.raw(), from.raw(), to.bytes());
  }
}

Tensor rows_of(const Tensor& tensor, const PeerRows& rows) { return tensor.slice_rows(rows.first, rows.count); }

/// Elements [first, first + count) of a tensor as a column.
struct Elements {
  std::byte* data;
  std::size_t bytes;
};
Elements share_of(const Tensor& tensor, std::size_t parts, std::size_t part) {
  const Run share = even_share(tensor.elements(), static_cast<std::int64_t>(parts), static_cast<std::int64_t>(part));
  const std::size_t width = element_bytes(tensor.type());
  return {tensor.raw() + static_cast<std::size_t>(share.first) * width, static_cast<std::size_t>(share.count) * width};
}

int stages_of(CollectiveKind kind) {
  if (kind == CollectiveKind::barrier) return 0;
  return kind == CollectiveKind::all_reduce ? 2 : 1;
}

}  // namespace

bool Meeting::enter(int member, const Collective& collective, double seconds) {
  slots_[member] = {collective, seconds, true};
  if (++entered_ < static_cast<int>(slots_.size())) return false;
  settle();
  return true;
}

void Meeting::settle() {
  for (const Slot& slot : slots_) ready_seconds_ = std::max(ready_seconds_, slot.entered_seconds);
  mismatch_ = find_mismatch(slots_, ranks_);
  const CollectiveKind kind = slots_[0].collective.kind;
  // A message has one task: the receiver's. stages_ is sized once, as atomics cannot move.
  const int tasks = kind == CollectiveKind::send ? 1 : static_cast<int>(slots_.size());
  std::vector<int> counts(stages_of(kind), tasks);
  stages_ = std::vector<Stage>(counts.begin(), counts.end());
  settled_.store(true, std::memory_order_release);
}

bool Meeting::leave(int member) {
  slots_[member].collective = {};
  return ++left_ == static_cast<int>(slots_.size());
}

std::vector<int> Meeting::missing() const {
  std::vector<int> absent;
  for (std::size_t m = 0; m < slots_.size(); ++m) {
    if (!slots_[m].entered) absent.push_back(static_cast<int>(m));
  }
  return absent;
}

double Meeting::began(double seconds) {
  double unsaid = 0;
  return began_seconds_.compare_exchange_strong(unsaid, seconds, std::memory_order_relaxed) ? seconds : unsaid;
}

bool Meeting::work(int stage, int member, Device& device) {
  Stage& current = stages_[stage];
  const int tasks = static_cast<int>(current.taken.size());
  bool completed = false;
  for (int k = 0; k < tasks; ++k) {
    const int task = (member + k) % tasks;
    if (current.taken[task].exchange(true, std::memory_order_relaxed)) continue;
    run(stage, task, device);
    ended_seconds_.store(device.now(), std::memory_order_relaxed);
    completed = current.done.fetch_add(1, std::memory_order_acq_rel) + 1 == tasks;
  }
  return completed;
}

bool Meeting::stage_done(int stage) const {
  const Stage& current = stages_[stage];
  return current.done.load(std::memory_order_acquire) == static_cast<int>(current.taken.size());
}

void Meeting::run(int stage, int task, Device& device) const {
  const std::size_t to = task;
  switch (slots_[0].collective.kind) {
    case CollectiveKind::all_to_all_v:
      return exchange(to, device);
    case CollectiveKind::all_gather_v:
      return gather(to, device);
    case CollectiveKind::all_reduce:
      return stage == 0 ? reduce_share(to, device) : gather_shares(to, device);
    case CollectiveKind::reduce_scatter:
      return reduce_rows(to, device);
    case CollectiveKind::broadcast: {
      const std::size_t root = slots_[0].collective.peer;
      return copy(slots_[root].collective.send, slots_[to].collective.receive, device);
    }
    case CollectiveKind::send:
      return copy(slots_[0].collective.send, slots_[1].collective.receive, device);
    case CollectiveKind::receive:
    case CollectiveKind::barrier:
      return;
  }
}

void Meeting::exchange(std::size_t to, Device& device) const {
  const Collective& own = slots_[to].collective;
  for (std::size_t from = 0; from < slots_.size(); ++from) {
    const Collective& peer = slots_[from].collective;
    copy_pieces(
        peer.send, pieces_for(peer.pieces.send, peer.send_rows[to], to), own.receive,
        pieces_for(own.pieces.receive, own.receive_rows[from], from),
        [&](void* target, const void* source, std::size_t bytes) { device.copy_values(target, source, bytes); });
  }
}

void Meeting::gather(std::size_t to, Device& device) const {
  const Collective& own = slots_[to].collective;
  for (std::size_t from = 0; from < slots_.size(); ++from) {
    copy(slots_[from].collective.send, rows_of(own.receive, own.receive_rows[from]), device);
  }
}

void Meeting::reduce_share(std::size_t to, Device& device) const {
  const Tensor& own = slots_[to].collective.receive;
  const std::size_t width = element_bytes(own.type());
  std::vector<const std::byte*> addends;
  for (const Slot& slot : slots_) {
    if (!slot.collective.send.has_values()) return;
    addends.push_back(share_of(slot.collective.send, slots_.size(), to).data);
  }
  const Elements sum = share_of(own, slots_.size(), to);
  device.sum_values(slots_[0].collective.reduction, own.type(), addends, sum.data,
                    static_cast<std::int64_t>(sum.bytes / width));
}

void Meeting::gather_shares(std::size_t to, Device& device) const {
  const Tensor& own = slots_[to].collective.receive;
  for (std::size_t from = 0; from < slots_.size(); ++from) {
    const Tensor& peer = slots_[from].collective.receive;
    if (from == to || !own.has_values() || !peer.has_values()) continue;
    const Elements sum = share_of(peer, slots_.size(), from);
    if (sum.bytes != 0) device.copy_values(share_of(own, slots_.size(), from).data, sum.data, sum.bytes);
  }
}

void Meeting::reduce_rows(std::size_t to, Device& device) const {
  const Tensor& own = slots_[to].collective.receive;
  std::vector<const std::byte*> addends;
  for (const Slot& slot : slots_) {
    const Tensor part = rows_of(slot.collective.send, slot.collective.send_rows[to]);
    if (!part.has_values()) return;
    addends.push_back(part.raw());
  }
  if (own.has_values()) device.sum_values(Reduction::sum, own.type(), addends, own.raw(), own.elements());
}

}  // namespace strobe::local
