// Handles of CUDA's libraries: one per stream, made when the stream first needs it and kept as long as the process.
// Streams are used again (stream_pool.hpp), and a handle's workspace belongs to the order of its stream.
#pragma once

#include <map>
#include <mutex>

#include "backends/cuda/runtime.hpp"

namespace strobe::cuda::runtime {

/// The stream's handle of one library; `make(stream)` makes it. Safe from several threads.
template <class Handle, class Make>
Handle handle_for(StreamHandle stream, const Make& make) {
  static std::mutex mutex;
  static auto& handles = *new std::map<StreamHandle, Handle>;
  const std::lock_guard lock(mutex);
  const auto known = handles.find(stream);
  return known != handles.end() ? known->second : handles.emplace(stream, make(stream)).first->second;
}

}  // namespace strobe::cuda::runtime
