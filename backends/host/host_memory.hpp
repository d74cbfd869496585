// Host memory that a device copies from and to asynchronously.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/errors.hpp"

namespace strobe {

/// Bytes of host memory, pinned if the device has memory of its own. Without values only their number exists. Cheap to
/// copy; the memory lives as long as a copy of it, or a transfer from or to it.
class HostMemory {
 public:
  HostMemory() = default;
  HostMemory(std::shared_ptr<std::byte> data, std::uint64_t bytes) : data_(std::move(data)), bytes_(bytes) {}

  /// Null without values.
  std::byte* raw() const { return data_.get(); }
  const std::shared_ptr<std::byte>& owner() const { return data_; }
  std::uint64_t bytes() const { return bytes_; }
  template <class T>
  T* data() const {
    return reinterpret_cast<T*>(data_.get());
  }

  /// Bytes [first, first + bytes) of it. Throws Error when it has fewer.
  HostMemory slice(std::uint64_t first, std::uint64_t bytes) const {
    if (first > bytes_ || bytes > bytes_ - first) throw Error("a slice lies outside of its host memory");
    if (data_ == nullptr) return {nullptr, bytes};
    return {std::shared_ptr<std::byte>(data_, data_.get() + first), bytes};
  }

 private:
  std::shared_ptr<std::byte> data_;
  std::uint64_t bytes_ = 0;
};

}  // namespace strobe
