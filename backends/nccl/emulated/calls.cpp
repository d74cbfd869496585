// NCCL for tests without a GPU: ranks are threads of this process, memory is the host's. It keeps to what NCCL promises
// and to nothing more: a group is complete only when all its operations are, a send completes when it was received, the
// next group of a rank begins after the one before, messages between two ranks match in order, and nothing moves
// before every rank has asked for the same: ranks that disagree hang, as with NCCL. Sums are in rank order. A group is
// `in_progress` until it is complete, so that the communicator's waiting is exercised; events of the emulated runtime
// are always complete.
#include "backends/nccl/calls.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "backends/cuda/emulated/device_memory.hpp"
#include "backends/nccl/emulated/faults.hpp"
#include "backends/ordered_sum.hpp"
#include "core/errors.hpp"

namespace strobe::nccl::calls {
namespace {

using Bytes = std::vector<std::byte>;

struct Faults {
  std::atomic<int> gpus{64}, broken_rank{-1};
};
Faults& faults() {
  static Faults all;
  return all;
}

struct Letter {
  Bytes bytes;
  bool received = false;
};

/// One collective of all ranks: what each brought.
struct Round {
  std::string what;
  std::vector<std::unique_ptr<Bytes>> brought;
};

struct World;

/// One split of all ranks: what each asked for, and the worlds of the colors.
struct Split {
  std::map<int, std::pair<int, int>> asked;  // color and key, by rank
  std::map<int, std::shared_ptr<World>> worlds;
};

struct World {
  std::mutex mutex;
  int joined = 0, ended = 0;
  std::map<std::pair<int, int>, std::deque<std::shared_ptr<Letter>>> letters;
  std::map<std::int64_t, Round> rounds;
  std::map<std::int64_t, Split> splits;
};

enum class Kind { send, receive, gather, sum };

struct Operation {
  Kind kind;
  const std::byte* from;
  std::byte* to;
  std::size_t bytes = 0;
  int peer = 0;  // or the root; -1 = everybody
  ElementType type = ElementType::u8;
  Reduction reduction = Reduction::sum;
  bool scatters = false;  // of a sum: rank r gets part r alone
  bool posted = false, done = false;
  std::shared_ptr<Letter> letter = nullptr;
  std::int64_t round = -1;
};

struct Member {
  std::shared_ptr<World> world;
  int rank = 0, ranks = 1;
  int world_rank = 0;  // in the first communicator
  bool ending = false;
  std::int64_t rounds = 0, splits = 0;
  Handle* child = nullptr;  // where the split under way puts what comes of it
  std::vector<Operation> group;
};

std::unique_ptr<Member> join(const std::shared_ptr<World>& world, int ranks, int rank, int world_rank) {
  const std::lock_guard joining(world->mutex);
  ++world->joined;
  auto member = std::make_unique<Member>();
  member->world = world;
  member->rank = rank;
  member->ranks = ranks;
  member->world_rank = world_rank;
  return member;
}

Member& member_of(Handle handle) { return *static_cast<Member*>(handle); }

thread_local bool in_group = false;

void add(Handle handle, Operation operation) {
  if (!in_group) throw Error("emulated NCCL: the communicator gives all in groups");
  member_of(handle).group.push_back(std::move(operation));
}

void post(Member& self, Operation& one) {
  one.posted = true;
  const Bytes own = one.from == nullptr ? Bytes() : Bytes(one.from, one.from + one.bytes);
  if (one.kind == Kind::send) {
    one.letter = std::make_shared<Letter>(Letter{own});
    self.world->letters[{self.rank, one.peer}].push_back(one.letter);
  } else if (one.kind != Kind::receive) {
    one.round = self.rounds++;
    Round& round = self.world->rounds[one.round];
    const std::string what = std::to_string(static_cast<int>(one.kind)) + " of " + std::to_string(one.bytes) +
                             " bytes, peer " + std::to_string(one.peer) + ", reduction " +
                             std::to_string(static_cast<int>(one.reduction));
    if (round.what.empty()) round.what = what;
    if (round.what != what) return;  // the round is never complete
    round.brought.resize(self.ranks);
    round.brought[self.rank] = std::make_unique<Bytes>(own);
  }
}

void take_letter(Member& self, Operation& one) {
  auto& waiting = self.world->letters[{one.peer, self.rank}];
  if (waiting.empty() || waiting.front()->bytes.size() != one.bytes) return;
  std::copy(waiting.front()->bytes.begin(), waiting.front()->bytes.end(), one.to);
  waiting.front()->received = one.done = true;
  waiting.pop_front();
}

/// As NCCL's kernels, which leave out NaNs.
template <class T>
void largest(const std::vector<const std::byte*>& addends, Bytes& result) {
  T* const values = reinterpret_cast<T*>(result.data());
  std::memcpy(values, addends[0], result.size());
  for (const std::byte* const addend : addends) {
    const T* const others = reinterpret_cast<const T*>(addend);
    for (std::size_t i = 0; i < result.size() / sizeof(T); ++i) values[i] = std::fmax(values[i], others[i]);
  }
}

void reduce(const Operation& one, const std::vector<const std::byte*>& addends, Bytes& result) {
  if (one.reduction == Reduction::max && one.type == ElementType::f32) return largest<float>(addends, result);
  if (one.reduction == Reduction::max && one.type == ElementType::f64) return largest<double>(addends, result);
  const std::int64_t elements = result.size() / element_bytes(one.type);
  ordered_sum(one.reduction, one.type, addends, result.data(), elements);
}

void take_round(Member& self, Operation& one) {
  const Round& round = self.world->rounds[one.round];
  for (const auto& part : round.brought) {
    if (part == nullptr) return;
  }
  one.done = true;
  if (one.kind == Kind::gather) {
    for (int peer = 0; peer < self.ranks; ++peer) {
      if (one.peer >= 0 && peer != one.peer) continue;
      const Bytes& part = *round.brought[peer];
      std::copy(part.begin(), part.end(), one.to + (one.peer >= 0 ? 0 : static_cast<std::size_t>(peer) * one.bytes));
    }
    return;
  }
  if (one.peer >= 0 && self.rank != one.peer) return;
  Bytes sum(one.bytes);
  std::vector<const std::byte*> addends;
  for (const auto& part : round.brought) addends.push_back(part->data());
  reduce(one, addends, sum);
  const std::size_t share = one.scatters ? one.bytes / static_cast<std::size_t>(self.ranks) : one.bytes;
  std::copy_n(sum.begin() + static_cast<std::ptrdiff_t>(one.scatters ? share * static_cast<std::size_t>(self.rank) : 0),
              share, one.to);
}

/// Whether the split under way is complete.
bool take_child(Member& self) {
  Split& split = self.world->splits[self.splits];
  if (static_cast<int>(split.asked.size()) < self.ranks) return false;
  const auto [color, key] = split.asked[self.rank];
  if (color >= 0) {
    std::shared_ptr<World>& world = split.worlds[color];
    if (!world) world = std::make_shared<World>();
    int ranks = 0, rank = 0;
    for (const auto& [other, asked] : split.asked) {
      if (asked.first != color) continue;
      ++ranks;
      rank += std::pair(asked.second, other) < std::pair(key, self.rank) ? 1 : 0;
    }
    *self.child = join(world, ranks, rank, self.world_rank).release();
  }
  self.child = nullptr;
  ++self.splits;
  return true;
}

}  // namespace

int gpu_count(std::string& reason) {
  if (faults().gpus == 0) reason = "no GPU can be used: the emulation has none";
  return faults().gpus;
}
std::string gpu_name() {
  const char* const name = std::getenv("STROBE_EMULATED_GPU");
  return name == nullptr ? "emulated GPU" : name;
}

void forbid_direct_access() {}

UniqueId make_unique_id() {
  static std::atomic<std::int64_t> next{1};
  UniqueId id{};
  const std::int64_t number = next++;
  std::memcpy(id.data(), &number, sizeof(number));
  return id;
}

Handle begin(int ranks, const UniqueId& id, int rank) {
  static std::mutex mutex;
  static std::map<UniqueId, std::weak_ptr<World>> worlds;
  const std::lock_guard lock(mutex);
  std::shared_ptr<World> world = worlds[id].lock();
  if (!world) worlds[id] = world = std::make_shared<World>();
  return join(world, ranks, rank, rank).release();
}

void begin_split(Handle parent, int color, int key, Handle* child) {
  Member& self = member_of(parent);
  const std::lock_guard lock(self.world->mutex);
  if (!self.group.empty()) throw Error("emulated NCCL: split with operations under way");
  *child = nullptr;
  self.child = child;
  self.world->splits[self.splits].asked[self.rank] = {color, key};
}

bool in_progress(Handle handle) {
  Member& self = member_of(handle);
  if (self.world_rank == faults().broken_rank) throw SystemError("emulated NCCL: unhandled system error");
  const std::lock_guard lock(self.world->mutex);
  if (self.world->joined < self.ranks) return true;
  if (self.ending) return self.world->ended < self.ranks;
  if (self.child != nullptr) return !take_child(self);
  if (self.group.empty()) return false;
  bool all_done = true;
  const cuda::emulated::DeviceAccess access;
  for (Operation& one : self.group) {
    if (!one.posted) post(self, one);
    if (one.kind == Kind::send) one.done = one.letter->received;
    if (one.kind == Kind::receive && !one.done) take_letter(self, one);
    if (one.round >= 0 && !one.done) take_round(self, one);
    all_done = all_done && one.done;
  }
  if (all_done) self.group.clear();
  return !all_done;
}

void begin_end(Handle handle) {
  Member& self = member_of(handle);
  const std::lock_guard lock(self.world->mutex);
  if (!self.group.empty()) throw Error("emulated NCCL: ended with operations under way");
  self.ending = true;
  ++self.world->ended;
}
void destroy(Handle handle) { delete static_cast<Member*>(handle); }
void abort(Handle handle) noexcept { delete static_cast<Member*>(handle); }

void group_begin() {
  if (in_group) throw Error("emulated NCCL: a group in a group");
  in_group = true;
}
void group_end() { in_group = false; }

void send(Handle handle, const std::byte* from, std::size_t bytes, int to, Stream) {
  add(handle, {Kind::send, from, nullptr, bytes, to});
}
void receive(Handle handle, std::byte* to, std::size_t bytes, int from, Stream) {
  add(handle, {Kind::receive, nullptr, to, bytes, from});
}
void broadcast(Handle handle, const std::byte* from, std::byte* to, std::size_t bytes, int root, Stream) {
  add(handle, {Kind::gather, from, to, bytes, root});
}
void all_gather(Handle handle, const std::byte* from, std::byte* to, std::size_t bytes, Stream) {
  add(handle, {Kind::gather, from, to, bytes, -1});
}
void all_reduce(Handle handle, const std::byte* from, std::byte* to, std::size_t elements, ElementType type,
                Reduction reduction, Stream) {
  add(handle, {Kind::sum, from, to, elements * element_bytes(type), -1, type, reduction});
}
void reduce(Handle handle, const std::byte* from, std::byte* to, std::size_t elements, ElementType type, int root,
            Stream) {
  add(handle, {Kind::sum, from, to, elements * element_bytes(type), root, type});
}
void reduce_scatter(Handle handle, const std::byte* from, std::byte* to, std::size_t elements, ElementType type,
                    Stream) {
  const std::size_t ranks = member_of(handle).ranks;
  add(handle, {Kind::sum, from, to, ranks * elements * element_bytes(type), -1, type, Reduction::sum, true});
}

}  // namespace strobe::nccl::calls

namespace strobe::nccl::emulated {

void set_gpu_count(int count) { calls::faults().gpus = count; }
void set_broken_rank(int rank) { calls::faults().broken_rank = rank; }

}  // namespace strobe::nccl::emulated
