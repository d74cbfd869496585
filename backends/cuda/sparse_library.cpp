// Descriptors are made for each product: they hold addresses and sizes only. Algorithm 3 is the one for compressed rows
// whose results are the same bits in every run. Source: NVIDIA, cuSPARSE, "cusparseSpMM()".
#include "backends/cuda/sparse_library.hpp"

#include <fmt/format.h>

#include "core/errors.hpp"

#ifdef STROBE_WITH_CUSPARSE
#include <cusparse.h>

#include "backends/cuda/library_handles.hpp"
#include "core/late_library.hpp"

#define LATE(function) STROBE_LATE(cusparse, function)
#endif

namespace strobe::cuda::runtime {

#ifdef STROBE_WITH_CUSPARSE
namespace {

LateLibrary& cusparse() {
  static const std::string file = fmt::format("libcusparse.so.{}", CUSPARSE_VER_MAJOR);
  static LateLibrary library("cuSPARSE", {file, STROBE_CUDA_LIBRARIES "/" + file});
  return library;
}

void check(cusparseStatus_t status, const char* what) {
  if (status == CUSPARSE_STATUS_SUCCESS) return;
  const std::string text =
      fmt::format("{}: {} ({})", what, LATE(cusparseGetErrorString)(status), LATE(cusparseGetErrorName)(status));
  if (status == CUSPARSE_STATUS_ALLOC_FAILED || status == CUSPARSE_STATUS_INSUFFICIENT_RESOURCES)
    throw OutOfMemory(text);
  throw SystemError(text);
}

cusparseHandle_t handle_for(StreamHandle stream) {
  return runtime::handle_for<cusparseHandle_t>(stream, [](StreamHandle on) {
    cusparseHandle_t handle = nullptr;
    check(LATE(cusparseCreate)(&handle), "cuSPARSE");
    check(LATE(cusparseSetStream)(handle, static_cast<cudaStream_t>(on)), "cuSPARSE's stream");
    return handle;
  });
}

template <class T>
constexpr cudaDataType type_of = sizeof(T) == 4 ? CUDA_R_32F : CUDA_R_64F;

template <class T>
class Descriptors {
 public:
  explicit Descriptors(const CsrProduct<T>& p) {
    constexpr cusparseIndexType_t index = CUSPARSE_INDEX_32I;
    check(LATE(cusparseCreateConstCsr)(&a, p.rows, p.columns, p.nonzeros, p.offsets, p.indices, p.values, index, index,
                                       CUSPARSE_INDEX_BASE_ZERO, type_of<T>),
          "cuSPARSE's matrix");
    check(LATE(cusparseCreateConstDnMat)(&b, p.columns, p.width, p.width, p.b, type_of<T>, CUSPARSE_ORDER_ROW),
          "cuSPARSE's factor");
    check(LATE(cusparseCreateDnMat)(&c, p.rows, p.width, p.width, p.c, type_of<T>, CUSPARSE_ORDER_ROW),
          "cuSPARSE's product");
  }
  ~Descriptors() {
    if (a != nullptr) LATE(cusparseDestroySpMat)(a);
    if (b != nullptr) LATE(cusparseDestroyDnMat)(b);
    if (c != nullptr) LATE(cusparseDestroyDnMat)(c);
  }
  Descriptors(const Descriptors&) = delete;
  Descriptors& operator=(const Descriptors&) = delete;

  cusparseConstSpMatDescr_t a = nullptr;
  cusparseConstDnMatDescr_t b = nullptr;
  cusparseDnMatDescr_t c = nullptr;
};

constexpr auto as_it_lies = CUSPARSE_OPERATION_NON_TRANSPOSE;

template <class T>
std::size_t bytes_of(StreamHandle stream, const CsrProduct<T>& p) {
  const Descriptors<T> d(p);
  const T one = 1;
  std::size_t bytes = 0;
  check(LATE(cusparseSpMM_bufferSize)(handle_for(stream), as_it_lies, as_it_lies, &one, d.a, d.b, &p.beta, d.c,
                                      type_of<T>, CUSPARSE_SPMM_CSR_ALG3, &bytes),
        "cusparseSpMM_bufferSize");
  return bytes;
}

template <class T>
void multiply_with(StreamHandle stream, const CsrProduct<T>& p, std::byte* workspace) {
  const Descriptors<T> d(p);
  const T one = 1;
  check(LATE(cusparseSpMM)(handle_for(stream), as_it_lies, as_it_lies, &one, d.a, d.b, &p.beta, d.c, type_of<T>,
                           CUSPARSE_SPMM_CSR_ALG3, workspace),
        "cusparseSpMM");
}

}  // namespace

bool has_sparse_library() { return true; }
#else
namespace {

[[noreturn]] void refuse() { throw Error("this program was built without cuSPARSE"); }
template <class T>
std::size_t bytes_of(StreamHandle, const CsrProduct<T>&) {
  refuse();
}
template <class T>
void multiply_with(StreamHandle, const CsrProduct<T>&, std::byte*) {
  refuse();
}

}  // namespace

bool has_sparse_library() { return false; }
#endif

std::size_t workspace_bytes(StreamHandle stream, const CsrProduct<float>& product) { return bytes_of(stream, product); }
std::size_t workspace_bytes(StreamHandle stream, const CsrProduct<double>& product) {
  return bytes_of(stream, product);
}
void multiply(StreamHandle stream, const CsrProduct<float>& product, std::byte* workspace) {
  multiply_with(stream, product, workspace);
}
void multiply(StreamHandle stream, const CsrProduct<double>& product, std::byte* workspace) {
  multiply_with(stream, product, workspace);
}

}  // namespace strobe::cuda::runtime

#undef LATE
