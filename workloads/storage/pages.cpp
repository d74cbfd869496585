#include "workloads/storage/pages.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "core/errors.hpp"

namespace strobe {

Pages::Pages(std::size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    throw SystemError(fmt::format("cannot get {} bytes of memory: {}", bytes, std::strerror(errno)));
  data_ = static_cast<std::byte*>(memory);
}

void Pages::prefer_large() {
  if (data_ != nullptr) madvise(data_, bytes_, MADV_HUGEPAGE);  // a hint; nothing depends on it
}

Pages::~Pages() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

}  // namespace strobe
