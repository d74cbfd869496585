// Counts the handles that the emulation of the runtime has given out and not got back, for tests of leaks.
#pragma once

namespace strobe::cuda::emulated {

/// Events that were made and not released, of all threads.
int live_events();
/// Ranges of the profiler that the calling thread has pushed and not popped; below 0: popped too often.
int open_ranges();
/// Allocations that were released since the pool was last trimmed, which a GPU's pool would hold idle.
int idle_allocations();

}  // namespace strobe::cuda::emulated
