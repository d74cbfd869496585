// The product of cuBLAS for a stream.
#include "backends/cuda/blas.hpp"

#include <cublas_v2.h>
#include <fmt/format.h>

#include <map>
#include <mutex>

#include "core/errors.hpp"
#include "core/system/late_library.hpp"

#define LATE(function) STROBE_LATE(cublas, function)

namespace strobe::cuda::runtime {
namespace {

LateLibrary& cublas() {
  static const std::string file = fmt::format("libcublas.so.{}", CUBLAS_VER_MAJOR);
  static LateLibrary library("cuBLAS", {file, STROBE_CUDA_LIBRARIES "/" + file});
  return library;
}

void check(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  const std::string text =
      fmt::format("{}: {} ({})", what, LATE(cublasGetStatusString)(status), LATE(cublasGetStatusName)(status));
  if (status == CUBLAS_STATUS_ALLOC_FAILED) throw OutOfMemory(text);
  throw SystemError(text);
}

cublasHandle_t make_handle(StreamHandle stream) {
  cublasHandle_t handle = nullptr;
  check(LATE(cublasCreate)(&handle), "cuBLAS");
  check(LATE(cublasSetStream)(handle, static_cast<cudaStream_t>(stream)), "cuBLAS's stream");
  check(LATE(cublasSetMathMode)(handle, CUBLAS_DEFAULT_MATH), "cuBLAS's precision");  // no TF32
  return handle;
}

/// The stream's handle, made when the stream first needs it and kept as long as the process: streams are used again
/// (stream_pool.hpp), and a handle's workspace belongs to the order of its stream. Safe from several threads.
cublasHandle_t handle_for(StreamHandle stream) {
  static std::mutex mutex;
  static auto& handles = *new std::map<StreamHandle, cublasHandle_t>;
  const std::lock_guard lock(mutex);
  const auto known = handles.find(stream);
  return known != handles.end() ? known->second : handles.emplace(stream, make_handle(stream)).first->second;
}

}  // namespace

void gemm(StreamHandle stream, int m, int n, int k, const float* a, int lda, const float* b, int ldb, float beta,
          float* c, int ldc) {
  const float one = 1;
  check(LATE(cublasSgemm)(handle_for(stream), CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &one, a, lda, b, ldb, &beta, c, ldc),
        "cublasSgemm");
}

void gemm(StreamHandle stream, int m, int n, int k, const double* a, int lda, const double* b, int ldb, double beta,
          double* c, int ldc) {
  const double one = 1;
  check(LATE(cublasDgemm)(handle_for(stream), CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &one, a, lda, b, ldb, &beta, c, ldc),
        "cublasDgemm");
}

}  // namespace strobe::cuda::runtime

#undef LATE
