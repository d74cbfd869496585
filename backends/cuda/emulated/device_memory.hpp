// The emulation's device memory. With STROBE_GUARD_EMULATED_MEMORY set it is out of the host's reach except while a
// kernel or a copy runs, as a GPU's is, so that host code which reads a tensor ends with a fault here as it would
// there; set to "with-keys", only where memory protection keys make that cheap; "by-pages", without keys. Under the
// address sanitizer, which finds other faults instead, it is ordinary memory.
#pragma once

#include <cstddef>

namespace strobe::cuda::emulated {

/// `bytes` with every bit set (NaN, to whoever reads what nobody wrote), or null when there is no room. Thread-safe.
std::byte* allocate_device(std::size_t bytes);
void release_device(std::byte* memory) noexcept;
/// Whether it is the host's ordinary memory, which the address sanitizer watches.
bool is_ordinary_memory();
/// Whether the address lies in an allocation that is in use.
bool is_device(const void* address);

/// While one lives, device memory can be read and written: by its thread, and those that this thread starts; without
/// memory protection keys by all threads.
class DeviceAccess {
 public:
  DeviceAccess();
  ~DeviceAccess();
  DeviceAccess(const DeviceAccess&) = delete;
  DeviceAccess& operator=(const DeviceAccess&) = delete;
};

}  // namespace strobe::cuda::emulated
