// The part of NCCL that the communicator uses, as functions that the emulation (emulated/calls.cpp) also provides.
// Handles are NCCL's own. All functions throw SystemError with NCCL's words, or PeerFailed when NCCL reports that
// another rank is gone. Calls on a communicator return at once; `in_progress` says whether the streams have the
// operations yet.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "backends/reduction.hpp"
#include "backends/tensor.hpp"

namespace strobe::nccl::calls {

using Handle = void*;
using Stream = void*;
using UniqueId = std::array<char, 128>;

/// Number of GPUs that this process sees; if 0, `reason` says why.
int gpu_count(std::string& reason);
/// Names the calling thread's GPU among all GPUs of all machines, for a person to read.
std::string gpu_name();

/// Call this before the first id of ranks that are threads of one process. Otherwise NCCL would let GPUs reach into
/// each other's tensors, which memory of a stream-ordered pool does not allow. Settings of the user stay.
void forbid_direct_access();
UniqueId make_unique_id();
/// Starts to join `ranks` ranks, this one with the calling thread's GPU. Complete once `in_progress` is false.
Handle begin(int ranks, const UniqueId& id, int rank);
/// Starts to split the ranks of `parent`, which all call this with nothing else under way. Ranks of one color (-1:
/// none) join, ordered by `key`. Complete once `parent` is not in_progress; then `child` is set, null for color -1. It
/// must stay where it is until then, or until `parent` has been left. Throws Unavailable where NCCL is older than 2.18.
void begin_split(Handle parent, int color, int key, Handle* child);
/// Whether NCCL is still working on the last request. Throws the error, if any, that arose meanwhile.
bool in_progress(Handle handle);
/// Starts to leave cleanly, when nothing is under way. Once `in_progress` is false, call `destroy`.
void begin_end(Handle handle);
void destroy(Handle handle);
/// Leaves at once and cancels everything under way. Never throws.
void abort(Handle handle) noexcept;

/// Starts all operations requested between the two calls together, at the end.
void group_begin();
void group_end();
void send(Handle handle, const std::byte* from, std::size_t bytes, int to, Stream stream);
void receive(Handle handle, std::byte* to, std::size_t bytes, int from, Stream stream);
void broadcast(Handle handle, const std::byte* from, std::byte* to, std::size_t bytes, int root, Stream stream);
void all_gather(Handle handle, const std::byte* from, std::byte* to, std::size_t bytes, Stream stream);
/// Sums, or maxima, of `elements` elements; `to` may be `from`. A maximum leaves out NaNs, unless all ranks bring one.
void all_reduce(Handle handle, const std::byte* from, std::byte* to, std::size_t elements, ElementType type,
                Reduction reduction, Stream stream);
void reduce(Handle handle, const std::byte* from, std::byte* to, std::size_t elements, ElementType type, int root,
            Stream stream);
/// `elements` of each rank's part.
void reduce_scatter(Handle handle, const std::byte* from, std::byte* to, std::size_t elements, ElementType type,
                    Stream stream);

}  // namespace strobe::nccl::calls
