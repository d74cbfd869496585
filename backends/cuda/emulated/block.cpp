// One block at a time on fibres. A fibre runs threads of the block until one of them waits; that thread keeps the
// fibre, and another fibre goes on with the threads that have not begun. So a kernel without barriers costs no switch.
// Invariant: a thread runs only while `place` is its own. Cost: two context switches per thread and barrier.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "backends/cuda/emulated/device_memory.hpp"
#include "backends/cuda/emulated/language.hpp"
#include "backends/sim/fibre.hpp"
#include "core/errors.hpp"
#include "core/system/subnormals.hpp"

namespace strobe::cuda::emulated {

constinit thread_local Place place;

namespace {

enum class State : std::uint8_t { fresh, running, at_block_barrier, at_warp_barrier, finished };

struct alignas(16) LaneValue {
  std::byte bytes[16];
};

/// A fibre that takes one job after another.
class Runner {
 public:
  Runner() : fibre_([this] { work(); }, sim::Suspensions::outside_handlers) {}
  ~Runner() {
    if (!begun_ || !idle_) return;
    job_ = nullptr;
    fibre_.resume();
  }

  void start(const std::function<void()>& job) {
    job_ = &job;
    begun_ = true;
    idle_ = false;
    fibre_.resume();
  }
  void go_on() { fibre_.resume(); }
  void suspend() { fibre_.suspend(); }
  void hand_over(Runner& other) { fibre_.hand_over(other.fibre_); }
  bool idle() const { return idle_; }

 private:
  void work() {
    while (job_ != nullptr) {
      (*job_)();
      idle_ = true;
      fibre_.suspend();
    }
  }

  const std::function<void()>* job_ = nullptr;
  bool begun_ = false, idle_ = true;
  sim::Fibre fibre_;
};

struct Thread {
  State state = State::fresh;
  unsigned mask = 0;         // of the warp barrier it waits at
  unsigned exchanges = 0;    // how many it has taken part in
  Runner* runner = nullptr;  // that holds it while it waits
};

/// The lanes of a warp that wait at its barrier.
struct Warp {
  unsigned waiting = 0;
  unsigned mask = 0;   // that all of them wait for, unless
  bool mixed = false;  // they wait for several
};

/// State that the threads of the running block share.
struct Block {
  std::vector<Thread> threads;
  std::vector<Warp> warps;
  std::vector<LaneValue> slots;   // two per thread, used in turns
  std::vector<std::byte> shared;  // dynamic
  std::size_t static_shared_bytes = 0;
  std::vector<std::unique_ptr<Runner>> runners;
  std::vector<Runner*> free;
  std::vector<int> ready;  // threads that go on, in running order
  std::size_t next_ready = 0;
  const std::function<void()>* kernel = nullptr;
  int next_fresh = 0;  // in running order
  int current = 0;
  int at_block_barrier = 0, finished = 0;  // how many threads
  Runner* runner = nullptr;
  Order order = Order::forward;

  int count() const { return static_cast<int>(threads.size()); }
  int ordered(int i) const { return order == Order::forward ? i : count() - 1 - i; }
};

thread_local Block block;

void enter(int thread) {
  block.current = thread;
  place.thread.x = static_cast<unsigned>(thread);
  block.threads[thread].state = State::running;
}

/// A runner's job: its threads one after another, as long as there are fresh ones.
void run_fresh_threads() {
  const FlushSubnormals flush;  // as Device::run asks; a fibre keeps the mode that it began with
  while (block.next_fresh < block.count()) {
    const int thread = block.ordered(block.next_fresh++);
    enter(thread);
    (*block.kernel)();
    block.threads[thread].state = State::finished;
    ++block.finished;
  }
}

/// The thread that goes on next, as the running one from here on; its runner.
Runner& enter_next() {
  const int thread = block.ready[block.next_ready++];
  enter(thread);
  block.runner = block.threads[thread].runner;
  return *block.runner;
}

/// The running thread waits. Those that can go on follow each other directly; the last of them goes back to go_on.
void pause(Thread& own, State state) {
  own.state = state;
  own.runner = block.runner;
  if (sim::Fibre::can_hand_over && block.next_ready < block.ready.size()) {
    own.runner->hand_over(enter_next());
  } else {
    own.runner->suspend();
  }
}

/// Runs the threads of `ready` until all of them wait again or have finished.
void go_on() {
  for (block.next_ready = 0; block.next_ready < block.ready.size();) {
    enter_next().go_on();
    if (block.runner->idle()) block.free.push_back(block.runner);
  }
  block.ready.clear();
  block.next_ready = 0;
}

void start_runner() {
  static const std::function<void()> job = run_fresh_threads;
  if (block.free.empty()) {
    block.runners.push_back(std::make_unique<Runner>());
    block.free.push_back(block.runners.back().get());
  }
  Runner* const runner = block.free.back();
  block.free.pop_back();
  block.runner = runner;
  runner->start(job);
  if (runner->idle()) block.free.push_back(runner);
}

/// Whether all lanes in the mask of `thread`, which waits for its warp, wait for the same.
bool warp_is_there(int thread) {
  const Thread& one = block.threads[thread];
  const int first = thread / 32 * 32;
  for (int lane = 0; lane < 32 && first + lane < block.count(); ++lane) {
    if ((one.mask >> lane & 1u) == 0) continue;
    const Thread& other = block.threads[first + lane];
    if (other.state != State::at_warp_barrier || other.mask != one.mask) return false;
  }
  return true;
}

/// The lanes of a warp that can go on.
unsigned lanes_that_are_there(int warp_index, const Warp& warp) {
  const int first = warp_index * 32, lanes = std::min(32, block.count() - first);
  if (!warp.mixed) return (warp.mask & (~0u >> (32 - lanes)) & ~warp.waiting) == 0 ? warp.waiting : 0;
  unsigned there = 0;
  for (int lane = 0; lane < lanes; ++lane) {
    if ((warp.waiting >> lane & 1u) != 0 && warp_is_there(first + lane)) there |= 1u << lane;
  }
  return there;
}

/// Lets warps go on whose lanes have all arrived; returns whether there were any.
bool release_warps() {
  const int warps = static_cast<int>(block.warps.size());
  for (int i = 0; i < warps; ++i) {
    const int index = block.order == Order::forward ? i : warps - 1 - i;
    Warp& warp = block.warps[index];
    const unsigned there = warp.waiting == 0 ? 0 : lanes_that_are_there(index, warp);
    if (there == 0) continue;
    for (int j = 0; j < 32; ++j) {
      const int lane = block.order == Order::forward ? j : 31 - j;
      if ((there >> lane & 1u) != 0) block.ready.push_back(index * 32 + lane);
    }
    warp.waiting &= ~there;
  }
  if (block.ready.empty()) return false;
  go_on();
  return true;
}

/// Lets the block go on when every thread waits at its barrier; returns whether it did.
bool release_block() {
  if (block.at_block_barrier != block.count()) return false;
  block.at_block_barrier = 0;
  for (int i = 0; i < block.count(); ++i) block.ready.push_back(block.ordered(i));
  go_on();
  return true;
}

void run_block(int threads) {
  block.threads.assign(threads, Thread());
  block.slots.resize(2 * static_cast<std::size_t>(threads));
  std::fill(block.shared.begin(), block.shared.end(), std::byte{0xff});
  block.static_shared_bytes = 0;
  ++place.begun;
  block.warps.assign((static_cast<std::size_t>(threads) + 31) / 32, Warp());
  block.ready.clear();
  block.next_ready = 0;
  block.next_fresh = block.at_block_barrier = block.finished = 0;
  while (block.next_fresh < threads) start_runner();
  while (block.finished < threads) {
    if (release_warps() || release_block()) continue;
    throw Error(fmt::format("threads of block {} wait for each other in vain: {} of {} have finished", place.block.x,
                            block.finished, threads));
  }
}

/// Bytes of dynamic shared memory that kernels were allowed, by any thread.
struct Allowed {
  std::mutex mutex;
  std::map<const void*, std::size_t> bytes;

  static Allowed& of_all() {
    static Allowed all;
    return all;
  }
  std::size_t of(const void* kernel) {
    const std::lock_guard lock(mutex);
    const auto found = bytes.find(kernel);
    return found == bytes.end() ? 0 : found->second;
  }
};

/// As the launch of a GPU answers, which knows what shared memory a kernel has before it runs.
void refuse_shared_memory_beyond_the_bound(std::size_t allowed) {
  const std::size_t bytes = block.shared.size() + block.static_shared_bytes;
  if (bytes <= most_shared_bytes || (block.shared.size() <= allowed && bytes <= most_allowed_bytes)) return;
  throw SystemError(fmt::format("kernel: invalid argument (cudaErrorInvalidValue): {} bytes of shared memory", bytes));
}

}  // namespace

void set_order(Order order) { block.order = order; }

void allow_shared(const void* kernel, std::size_t bytes) {
  if (bytes > most_allowed_bytes) {
    throw SystemError(
        fmt::format("shared memory of a kernel: invalid argument (cudaErrorInvalidValue): {} bytes", bytes));
  }
  Allowed& all = Allowed::of_all();
  const std::lock_guard lock(all.mutex);
  all.bytes[kernel] = bytes;
}

void run_grid(void*, std::int64_t blocks, int threads, std::size_t shared_bytes, const std::function<void()>& kernel,
              const void* allowed) {
  if (threads < 1 || threads > most_threads || blocks < 1 || blocks > most_blocks) {
    throw SystemError(
        fmt::format("kernel: invalid configuration argument (cudaErrorInvalidConfiguration): {} blocks of "
                    "{} threads",
                    blocks, threads));
  }
  const DeviceAccess access;
  const FlushSubnormals flush;  // as in the fibres: a switch between two modes costs more than one within
  block.kernel = &kernel;
  block.shared.resize(shared_bytes);
  block.static_shared_bytes = 0;
  const std::size_t allowed_bytes = allowed == nullptr ? 0 : Allowed::of_all().of(allowed);
  refuse_shared_memory_beyond_the_bound(allowed_bytes);
  place.threads = {static_cast<unsigned>(threads), 1, 1};
  place.blocks = {static_cast<unsigned>(blocks), 1, 1};
  for (std::int64_t b = 0; b < blocks; ++b) {
    place.block = {static_cast<unsigned>(block.order == Order::forward ? b : blocks - 1 - b), 0, 0};
    run_block(threads);
    refuse_shared_memory_beyond_the_bound(allowed_bytes);
  }
}

std::byte* shared_memory() { return block.shared.data(); }

void count_static_shared(std::size_t bytes) { block.static_shared_bytes += bytes; }

void block_barrier() {
  ++block.at_block_barrier;
  pause(block.threads[block.current], State::at_block_barrier);
}

void warp_barrier(unsigned mask) {
  const int thread = block.current;
  Warp& warp = block.warps[static_cast<std::size_t>(thread) / 32];
  if (warp.waiting == 0) {
    warp.mask = mask, warp.mixed = false;
  } else if (warp.mask != mask) {
    warp.mixed = true;
  }
  warp.waiting |= 1u << thread % 32;
  Thread& own = block.threads[thread];
  own.mask = mask;
  pause(own, State::at_warp_barrier);
}

ExchangeSlots exchange_slots(int source) {
  const int thread = block.current, first = thread / 32 * 32;
  const int from = source >= 0 && source < 32 && first + source < block.count() ? first + source : thread;
  // Two slots in turns: a lane that is one exchange ahead does not write over what others have yet to read.
  const std::size_t turn = block.threads[thread].exchanges++ % 2;
  return {block.slots[2 * static_cast<std::size_t>(thread) + turn].bytes,
          block.slots[2 * static_cast<std::size_t>(from) + turn].bytes};
}

}  // namespace strobe::cuda::emulated
