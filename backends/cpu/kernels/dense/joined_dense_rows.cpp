// Dense layer of parts side by side with many weights: every part is a source of rows of its own (row_products.hpp), so
// that nothing is joined forward, and each part's gradient is a product that is stored, or added, where it belongs.
// Weight gradients pack what they read from the parts (dense_deep.hpp). Cost 2 R F G FLOPs per product; each part is
// read once forward and once backward.
#include <vector>

#include "backends/cpu/kernels/dense/column_parts.hpp"
#include "backends/cpu/kernels/dense/dense_deep.hpp"
#include "backends/cpu/kernels/dense/row_products.hpp"
#include "backends/operations/operations_join.hpp"

namespace strobe {
namespace {

using namespace cpu;

constexpr std::int64_t rows_of_block = 48;  // four tiles use a panel while the first-level cache holds it
constexpr std::int64_t rows_of_task = 4 * rows_of_block;

/// The parts' rows of w [F, G], packed; those of a part that is not wanted are left out.
template <class T, class Pack>
std::vector<PackedColumns<T>> packed_parts(const std::vector<Part<T>>& parts, const Tensor& w,
                                           const KernelContext& context, const Pack& pack) {
  std::vector<PackedColumns<T>> packed(parts.size());
  run_tasks(context, static_cast<std::int64_t>(parts.size()), [&](std::int64_t i) {
    const std::size_t p = i;
    packed[p] = pack(w.data<T>() + parts[p].first * w.columns(), parts[p].width);
  });
  return packed;
}

/// Rows [begin, end) of the layer, a block of rows at a time.
template <class T>
void forward_rows(const JoinedDense& op, const std::vector<Part<T>>& parts, const std::vector<PackedColumns<T>>& packed,
                  std::int64_t begin, std::int64_t end) {
  const std::int64_t width = op.w.columns();
  const T* const bias = op.bias.defined() ? op.bias.data<T>() : nullptr;
  std::vector<RowSource<T>> sources(parts.size());
  for (std::int64_t row = begin; row < end; row += rows_of_block) {
    const std::int64_t rows = std::min(rows_of_block, end - row), behind = row + rows;
    const NextStrip next{0, behind, std::min(rows_of_block, end - behind)};
    LinesAhead ahead;
    for (std::size_t p = 0; p < parts.size(); ++p) {
      sources[p] = {parts[p].data + row * parts[p].width, parts[p].width, &packed[p]};
      ahead.add(next, 0, op.parts[p]);
    }
    multiply_rows<T>(sources, rows, ahead, {op.y.data<T>() + row * width, width, width, false, bias});
  }
}

void run_forward(const JoinedDense& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    const std::vector<Part<T>> parts = column_parts<T>(op.parts);
    const std::int64_t width = op.w.columns();
    const std::vector<PackedColumns<T>> packed =
        packed_parts<T>(parts, op.w, context,
                        [width](const T* from, std::int64_t inner) { return PackedColumns<T>(from, inner, width); });
    for_ranges(context, op.y.rows(), rows_of_task,
               [&](std::int64_t begin, std::int64_t end) { forward_rows(op, parts, packed, begin, end); });
  });
}

/// Rows [begin, end) of the gradients of the parts; `packed` of w^T.
template <class T>
void backward_rows(const JoinedDenseBackward& op, const std::vector<PackedColumns<T>>& packed, std::int64_t begin,
                   std::int64_t end) {
  const std::int64_t width = op.w.columns();
  for (std::int64_t row = begin; row < end; row += rows_of_block) {
    const std::int64_t rows = std::min(rows_of_block, end - row), behind = row + rows;
    const NextStrip next{0, behind, std::min(rows_of_block, end - behind)};
    LinesAhead ahead;
    ahead.add(next, 0, op.dy);
    for (const Tensor& dpart : op.dparts) ahead.add(next, 0, dpart);
    for (std::size_t p = 0; p < packed.size(); ++p) {
      const std::int64_t columns = packed[p].width();
      if (columns == 0) continue;
      const RowSource<T> source{op.dy.data<T>() + row * width, width, &packed[p]};
      multiply_rows<T>(std::span<const RowSource<T>>(&source, 1), rows, ahead,
                       {op.dparts[p].template data<T>() + row * columns, columns, columns, op.accumulate[p]});
    }
  }
}

void run_backward(const JoinedDenseBackward& op, KernelContext& context) {
  with_element(op.dy.type(), [&](auto zero) {
    using T = decltype(zero);
    const std::vector<Part<T>> inputs = column_parts<T>(op.parts);
    DenseBackward whole;
    whole.w = op.w, whole.dy = op.dy, whole.dw = op.dw, whole.dbias = op.dbias;
    add_deep_weights<T>(whole, inputs, context);
    std::vector<Part<T>> wanted = inputs;
    for (std::size_t p = 0; p < wanted.size(); ++p)
      if (!op.dparts[p].defined()) wanted[p].width = 0;
    const std::int64_t width = op.w.columns();
    const std::vector<PackedColumns<T>> packed = packed_parts<T>(
        wanted, op.w, context,
        [width](const T* from, std::int64_t columns) { return PackedColumns<T>::turned(from, width, columns); });
    for_ranges(context, op.dy.rows(), rows_of_task,
               [&](std::int64_t begin, std::int64_t end) { backward_rows<T>(op, packed, begin, end); });
  });
}

template <class Op>
bool serves(const Op& op) {
  return op.w.elements() > many_weights;
}

const RegisterKernel<JoinedDense> forward{"cpu", {"rows", 15, serves<JoinedDense>, run_forward}};
const RegisterKernel<JoinedDenseBackward> backward{"cpu", {"rows", 15, serves<JoinedDenseBackward>, run_backward}};

}  // namespace
}  // namespace strobe
