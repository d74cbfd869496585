// The private memory of this process: what no file backs and no other process shares.
#pragma once

#include <atomic>
#include <cstdint>

namespace strobe {

/// Resident private memory in bytes now (RssAnon of /proc/self/status); 0 where the system does not tell. Cost: one
/// read of a file, some ten microseconds.
std::uint64_t process_memory_bytes();

/// Looks now, and remembers the most that any look has seen since the last call of `forget_process_memory`. Any thread
/// may call these.
void look_at_process_memory();
std::uint64_t most_process_memory();
void forget_process_memory();

/// While it is on, freed memory goes back to the system at once, where that is possible: arrays of some size, and the
/// blocks that tensors no longer need. Each run of a case sets it. Memory is then what is in use, and a later use costs
/// page faults.
void spare_process_memory(bool on);
bool spares_process_memory();

/// For loops that make many small arrays: every 16th call gives what lies free amid the heap back to the system, while
/// memory is spared. Cost of such a call: about a millisecond.
void spare_heap();

/// Bytes that allocators of this process keep for reuse. They change it as they keep blocks and hand them out.
std::atomic<std::int64_t>& kept_for_reuse();

/// Gives these bytes back to the system, while memory is spared. For the end of work whose blocks fit nothing later.
void give_back_kept();
/// Names a function that does so for one kind of allocator. Call it before `main`.
void give_back_kept_by(void (*give_back)());

}  // namespace strobe
