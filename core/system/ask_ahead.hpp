// Asks the processor for memory ahead of its use.
#pragma once

namespace strobe {

/// Asks for the cache line at `place`, which is read soon. GCC takes a function of nothing but prefetches for one
/// without effect and leaves out its calls, hence the empty statement.
template <class T>
inline void ask_ahead(const T* place) {
  __builtin_prefetch(place);
  asm volatile("");
}

}  // namespace strobe
