// Sparse products by cuSPARSE, to be compared with ours (bench: spmm/.../cusparse). Its indices are all of one size, so
// the row offsets are narrowed first. Not chosen by itself until a GPU has shown where it is faster: its priority is
// below the plain kernel's. Cost: the product, 12 bytes a row, and cuSPARSE's workspace.
#include "backends/cuda/kernels/scratch_part.hpp"
#include "backends/cuda/kernels/sparse/compressed.hpp"
#include "backends/cuda/sparse_library.hpp"

namespace strobe::cuda {
namespace spmm_cusparse_kernels {

__global__ void narrow_offsets(const std::int64_t* from, std::int32_t* to, std::int64_t count) {
  for (std::int64_t i = grid_thread(); i < count; i += grid_threads()) to[i] = static_cast<std::int32_t>(from[i]);
}

bool supports(const SparseMatrix& a, std::int64_t rows, std::int64_t columns, std::int64_t width) {
  constexpr std::int64_t limit = (std::int64_t{1} << 31) - 1;
  return runtime::has_sparse_library() && rows > 0 && columns > 0 && width > 0 && a.nonzeros > 0 &&
         a.nonzeros <= limit && rows < limit && columns <= limit;
}

/// out [a.rows, width] (+)= a in [columns, width].
template <class T>
void product(const Compressed<T>& a, std::int64_t columns, std::int64_t nonzeros, const T* in, T* out,
             std::int64_t width, bool accumulate, const KernelContext& context) {
  constexpr int threads = 256;
  runtime::CsrProduct<T> p{a.rows,    columns,  nonzeros, width, nullptr,
                           a.indices, a.values, in,       out,   accumulate ? T{1} : T{0}};
  p.offsets = a.indices;  // any address will do to ask for the workspace
  const std::size_t offset_bytes = scratch_part(a.rows + 1, sizeof(std::int32_t));
  std::byte* const scratch = context.scratch(offset_bytes + runtime::workspace_bytes(context.native_stream, p));
  auto* const offsets = reinterpret_cast<std::int32_t*>(scratch);
  launch(context, blocks_for(a.rows + 1, threads), threads, 0, narrow_offsets, a.offsets, offsets, a.rows + 1);
  p.offsets = offsets;
  runtime::multiply(stream_for_library(context), p, scratch + offset_bytes);
}

bool supports_spmm(const Spmm& op) { return supports(op.a, op.a.rows, op.a.columns, op.y.columns()); }
bool supports_transposed(const SpmmTransposed& op) {
  return op.a.transposed_offsets.defined() && supports(op.a, op.a.columns, op.a.rows, op.x.columns());
}

void run_spmm(const Spmm& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    product<T>(compressed<T>(op.a), op.a.columns, op.a.nonzeros, op.x.data<T>(), op.y.data<T>(), op.y.columns(),
               op.accumulate, context);
  });
}

void run_spmm_transposed(const SpmmTransposed& op, KernelContext& context) {
  with_element(op.x.type(), [&](auto zero) {
    using T = decltype(zero);
    product<T>(compressed_transpose<T>(op.a), op.a.rows, op.a.nonzeros, op.y.data<T>(), op.x.data<T>(), op.x.columns(),
               op.accumulate, context);
  });
}

const RegisterKernel<Spmm> cusparse{Numerics::cuda, {"cusparse", -10, supports_spmm, run_spmm}};
const RegisterKernel<SpmmTransposed> cusparse_transposed{Numerics::cuda,
                                                         {"cusparse", -10, supports_transposed, run_spmm_transposed}};

}  // namespace spmm_cusparse_kernels
}  // namespace strobe::cuda
