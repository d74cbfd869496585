// Implements calls.hpp with NCCL. Every return code is checked; ncclInProgress is no error on a communicator that does
// not block.
#include "backends/nccl/calls.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <nccl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "backends/cuda/runtime.hpp"
#include "core/errors.hpp"

namespace strobe::nccl::calls {
namespace {

ncclComm_t communicator_of(Handle handle) { return static_cast<ncclComm_t>(handle); }
cudaStream_t stream_of(Stream stream) { return static_cast<cudaStream_t>(stream); }

void check(ncclResult_t result, const char* what, Handle handle = nullptr) {
  if (result == ncclSuccess || result == ncclInProgress) return;
  const char* const more = ncclGetLastError(communicator_of(handle));
  const std::string text = fmt::format("{}: {}{}{}", what, ncclGetErrorString(result),
                                       more == nullptr || *more == '\0' ? "" : ": ", more == nullptr ? "" : more);
  if (result == ncclRemoteError) throw PeerFailed(text);
  throw SystemError(text + "; NCCL_DEBUG=INFO prints what NCCL did");
}

void check_cuda(cudaError_t error, const char* what) {
  if (error != cudaSuccess) throw SystemError(fmt::format("{}: {}", what, cudaGetErrorString(error)));
}

ncclDataType_t nccl_type(ElementType type) {
  switch (type) {
    case ElementType::f32:
      return ncclFloat32;
    case ElementType::f64:
      return ncclFloat64;
    case ElementType::i32:
      return ncclInt32;
    case ElementType::i64:
      return ncclInt64;
    case ElementType::u8:
      return ncclUint8;
  }
  return ncclUint8;
}

}  // namespace

int gpu_count(std::string& reason) { return cuda::runtime::device_count(reason); }

std::string gpu_name() {
  int ordinal = 0;
  char bus[32] = "", host[256] = "";
  check_cuda(cudaGetDevice(&ordinal), "the thread's GPU");
  check_cuda(cudaDeviceGetPCIBusId(bus, sizeof(bus), ordinal), "the GPU's bus address");
  if (::gethostname(host, sizeof(host) - 1) != 0) host[0] = '\0';
  return fmt::format("GPU {} of host {}", bus, host);
}

void forbid_direct_access() { (void)::setenv("NCCL_P2P_DIRECT_DISABLE", "1", 0); }

UniqueId make_unique_id() {
  ncclUniqueId id;
  static_assert(sizeof(id) == sizeof(UniqueId));
  check(ncclGetUniqueId(&id), "ncclGetUniqueId");
  UniqueId bytes;
  std::memcpy(bytes.data(), &id, sizeof(id));
  return bytes;
}

Handle begin(int ranks, const UniqueId& id, int rank) {
  ncclUniqueId native;
  std::memcpy(&native, id.data(), sizeof(native));
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  ncclComm_t made = nullptr;
  check(ncclCommInitRankConfig(&made, ranks, native, rank, &config), "ncclCommInitRankConfig");
  return made;
}

void begin_split(Handle parent, int color, int key, Handle* child) {
#if NCCL_VERSION_CODE >= 21800
  static_assert(sizeof(Handle) == sizeof(ncclComm_t));
  const int native = color < 0 ? NCCL_SPLIT_NOCOLOR : color;
  // Without a configuration of its own the child does not block either.
  check(ncclCommSplit(communicator_of(parent), native, key, reinterpret_cast<ncclComm_t*>(child), nullptr),
        "ncclCommSplit", parent);
#else
  (void)parent, (void)color, (void)key, (void)child;
  throw Unavailable("communicator nccl: groups of ranks need NCCL 2.18 or newer");
#endif
}

bool in_progress(Handle handle) {
  ncclResult_t state = ncclSuccess;
  check(ncclCommGetAsyncError(communicator_of(handle), &state), "ncclCommGetAsyncError", handle);
  check(state, "NCCL, on its way", handle);
  return state == ncclInProgress;
}

void begin_end(Handle handle) { check(ncclCommFinalize(communicator_of(handle)), "ncclCommFinalize", handle); }
void destroy(Handle handle) { check(ncclCommDestroy(communicator_of(handle)), "ncclCommDestroy"); }
void abort(Handle handle) noexcept { (void)ncclCommAbort(communicator_of(handle)); }

void group_begin() { check(ncclGroupStart(), "ncclGroupStart"); }
void group_end() { check(ncclGroupEnd(), "ncclGroupEnd"); }

void send(Handle handle, const std::byte* from, std::size_t bytes, int to, Stream stream) {
  check(ncclSend(from, bytes, ncclUint8, to, communicator_of(handle), stream_of(stream)), "ncclSend", handle);
}

void receive(Handle handle, std::byte* to, std::size_t bytes, int from, Stream stream) {
  check(ncclRecv(to, bytes, ncclUint8, from, communicator_of(handle), stream_of(stream)), "ncclRecv", handle);
}

void broadcast(Handle handle, const std::byte* from, std::byte* to, std::size_t bytes, int root, Stream stream) {
  check(ncclBroadcast(from, to, bytes, ncclUint8, root, communicator_of(handle), stream_of(stream)), "ncclBroadcast",
        handle);
}

void all_gather(Handle handle, const std::byte* from, std::byte* to, std::size_t bytes, Stream stream) {
  check(ncclAllGather(from, to, bytes, ncclUint8, communicator_of(handle), stream_of(stream)), "ncclAllGather", handle);
}

void all_reduce(Handle handle, const std::byte* from, std::byte* to, std::size_t elements, ElementType type,
                Reduction reduction, Stream stream) {
  const ncclRedOp_t operation = reduction == Reduction::max ? ncclMax : ncclSum;
  check(ncclAllReduce(from, to, elements, nccl_type(type), operation, communicator_of(handle), stream_of(stream)),
        "ncclAllReduce", handle);
}

void reduce(Handle handle, const std::byte* from, std::byte* to, std::size_t elements, ElementType type, int root,
            Stream stream) {
  check(ncclReduce(from, to, elements, nccl_type(type), ncclSum, root, communicator_of(handle), stream_of(stream)),
        "ncclReduce", handle);
}

void reduce_scatter(Handle handle, const std::byte* from, std::byte* to, std::size_t elements, ElementType type,
                    Stream stream) {
  check(ncclReduceScatter(from, to, elements, nccl_type(type), ncclSum, communicator_of(handle), stream_of(stream)),
        "ncclReduceScatter", handle);
}

}  // namespace strobe::nccl::calls
