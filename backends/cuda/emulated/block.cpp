// One block at a time on fibres. A fibre runs threads of the block until one of them waits; that thread keeps the
// fibre, and another fibre goes on with the threads that have not begun. So a kernel without barriers costs no switch.
// Invariant: a thread runs only while `place` is its own. Cost: two context switches per thread and barrier.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "backends/cuda/emulated/device_memory.hpp"
#include "backends/cuda/emulated/language.hpp"
#include "backends/sim/fibre.hpp"
#include "core/errors.hpp"
#include "core/subnormals.hpp"

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
  Runner() : fibre_([this] { work(); }) {}
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

/// What the threads of the running block share.
struct Block {
  std::vector<Thread> threads;
  std::vector<LaneValue> slots;   // two per thread, used in turns
  std::vector<std::byte> shared;  // dynamic
  std::size_t static_shared_bytes = 0;
  std::vector<std::unique_ptr<Runner>> runners;
  std::vector<Runner*> free;
  std::vector<int> ready;  // threads that go on, in running order
  const std::function<void()>* kernel = nullptr;
  int next_fresh = 0;  // in running order
  int current = 0;
  Runner* runner = nullptr;
  Order order = Order::forward;

  int count() const { return static_cast<int>(threads.size()); }
  int ordered(int i) const { return order == Order::forward ? i : count() - 1 - i; }
};

thread_local Block block;

void enter(int thread) {
  block.current = thread;
  place.thread.x = static_cast<unsigned>(thread);
  block.threads[static_cast<std::size_t>(thread)].state = State::running;
}

/// A runner's job: its threads one after another, as long as there are fresh ones.
void run_fresh_threads() {
  const FlushSubnormals flush;  // as Device::run asks; a fibre keeps the mode that it began with
  while (block.next_fresh < block.count()) {
    const int thread = block.ordered(block.next_fresh++);
    enter(thread);
    (*block.kernel)();
    block.threads[static_cast<std::size_t>(thread)].state = State::finished;
  }
}

void pause(State state, unsigned mask) {
  const int thread = block.current;
  Thread& own = block.threads[static_cast<std::size_t>(thread)];
  own.state = state;
  own.mask = mask;
  own.runner = block.runner;
  own.runner->suspend();
}

void resume(int thread) {
  Thread& one = block.threads[static_cast<std::size_t>(thread)];
  Runner* const runner = one.runner;
  enter(thread);
  block.runner = runner;
  runner->go_on();
  if (runner->idle()) block.free.push_back(runner);
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
  const Thread& one = block.threads[static_cast<std::size_t>(thread)];
  const int first = thread / 32 * 32;
  for (int lane = 0; lane < 32 && first + lane < block.count(); ++lane) {
    if ((one.mask >> lane & 1u) == 0) continue;
    const Thread& other = block.threads[static_cast<std::size_t>(first + lane)];
    if (other.state != State::at_warp_barrier || other.mask != one.mask) return false;
  }
  return true;
}

/// Lets warps go on whose lanes have all arrived; returns whether there were any.
bool release_warps() {
  block.ready.clear();
  int asked_warp = -1;  // lanes of one warp that wait with one mask share an answer
  unsigned asked_mask = 0;
  bool there = false;
  for (int i = 0; i < block.count(); ++i) {
    const int thread = block.ordered(i);
    const Thread& one = block.threads[static_cast<std::size_t>(thread)];
    if (one.state != State::at_warp_barrier) continue;
    const bool same = thread / 32 == asked_warp && one.mask == asked_mask;
    if (!same) {
      asked_warp = thread / 32, asked_mask = one.mask;
      there = warp_is_there(thread);
    }
    if (there) block.ready.push_back(thread);
  }
  for (const int thread : block.ready) resume(thread);
  return !block.ready.empty();
}

/// Lets the block go on when every thread waits at its barrier; returns whether it did.
bool release_block() {
  for (const Thread& thread : block.threads) {
    if (thread.state != State::at_block_barrier) return false;
  }
  for (int i = 0; i < block.count(); ++i) resume(block.ordered(i));
  return true;
}

bool all_finished() {
  return std::all_of(block.threads.begin(), block.threads.end(),
                     [](const Thread& thread) { return thread.state == State::finished; });
}

void run_block(int threads) {
  block.threads.assign(static_cast<std::size_t>(threads), Thread());
  block.slots.resize(2 * static_cast<std::size_t>(threads));
  std::fill(block.shared.begin(), block.shared.end(), std::byte{0xff});
  block.static_shared_bytes = 0;
  ++place.begun;
  block.next_fresh = 0;
  while (block.next_fresh < threads) start_runner();
  while (!all_finished()) {
    if (release_warps() || release_block()) continue;
    int finished = 0;
    for (const Thread& thread : block.threads) finished += thread.state == State::finished ? 1 : 0;
    throw Error(fmt::format("threads of block {} wait for each other in vain: {} of {} have finished", place.block.x,
                            finished, threads));
  }
}

/// As the launch of a GPU answers, which knows what shared memory a kernel has before it runs.
void refuse_shared_memory_beyond_the_bound() {
  const std::size_t bytes = block.shared.size() + block.static_shared_bytes;
  if (bytes <= most_shared_bytes) return;
  throw SystemError(fmt::format("kernel: invalid argument (cudaErrorInvalidValue): {} bytes of shared memory", bytes));
}

}  // namespace

void set_order(Order order) { block.order = order; }

void run_grid(void*, std::int64_t blocks, int threads, std::size_t shared_bytes, const std::function<void()>& kernel) {
  if (threads < 1 || threads > most_threads || blocks < 1 || blocks > most_blocks) {
    throw SystemError(
        fmt::format("kernel: invalid configuration argument (cudaErrorInvalidConfiguration): {} blocks of "
                    "{} threads",
                    blocks, threads));
  }
  const DeviceAccess access;
  block.kernel = &kernel;
  block.shared.resize(shared_bytes);
  block.static_shared_bytes = 0;
  refuse_shared_memory_beyond_the_bound();
  place.threads = {static_cast<unsigned>(threads), 1, 1};
  place.blocks = {static_cast<unsigned>(blocks), 1, 1};
  for (std::int64_t b = 0; b < blocks; ++b) {
    place.block = {static_cast<unsigned>(block.order == Order::forward ? b : blocks - 1 - b), 0, 0};
    run_block(threads);
    refuse_shared_memory_beyond_the_bound();
  }
}

std::byte* shared_memory() { return block.shared.data(); }

void count_static_shared(std::size_t bytes) { block.static_shared_bytes += bytes; }

void block_barrier() { pause(State::at_block_barrier, 0); }
void warp_barrier(unsigned mask) { pause(State::at_warp_barrier, mask); }

void warp_exchange(unsigned mask, const void* own, void* other, std::size_t bytes, int source) {
  const int thread = block.current, first = thread / 32 * 32;
  // Two slots in turns: a lane that is one exchange ahead does not write over what others have yet to read.
  const std::size_t turn = block.threads[static_cast<std::size_t>(thread)].exchanges++ % 2;
  std::memcpy(block.slots[2 * static_cast<std::size_t>(thread) + turn].bytes, own, bytes);
  pause(State::at_warp_barrier, mask);
  const int from = source >= 0 && source < 32 && first + source < block.count() ? first + source : thread;
  std::memcpy(other, block.slots[2 * static_cast<std::size_t>(from) + turn].bytes, bytes);
}

}  // namespace strobe::cuda::emulated
