// Plain attention of roots over their sampled neighbours (NeighbourAttention) and its gradient, by the definitions: one
// root and one head at a time in double, softmax with the root's maximum taken off. A root writes its own rows of y,
// mixed, dq and dcode_query and its own slots' rows of coefficients, dseen and dcode only, so nothing depends on the
// number of threads. Cost per slot 4 (F + H C) FLOPs forward, 6 F + 8 H C backward.
#include <cmath>
#include <vector>

#include "backends/cpu/kernels/attention/neighbour_attention_parts.hpp"

namespace strobe {
namespace {

using namespace cpu;

/// Column `column` of the keys (part 0) or values (part 1) of slot s.
template <class T>
double seen_by(const NeighbourView<T>& view, std::int64_t s, int part, std::int64_t column) {
  return static_cast<double>(view.vertex[(view.rows[s] * 2 + part) * view.width + column]);
}

/// x_r . (keys, or values, of slot s) + x_code_r . code_s over the columns of one head; x is like q, x_code like
/// code_query.
template <class T>
double product_of(const NeighbourView<T>& view, const T* x, const T* x_code, std::int64_t root, std::int64_t s,
                  int part, std::int64_t head) {
  double sum = 0;
  for (std::int64_t c = head * view.depth; c < (head + 1) * view.depth; ++c)
    sum += static_cast<double>(x[root * view.width + c]) * seen_by(view, s, part, c);
  const T* const of_head = x_code + (root * view.heads + head) * view.codes;
  for (std::int64_t c = 0; c < view.codes; ++c)
    sum += static_cast<double>(of_head[c]) * static_cast<double>(view.code[s * view.codes + c]);
  return sum;
}

/// q_r . k_s + code_query_r . code_s of one head.
template <class T>
double product_of(const NeighbourView<T>& view, std::int64_t root, std::int64_t s, std::int64_t head) {
  return product_of(view, view.q, view.code_query, root, s, 0, head);
}

/// The coefficients of one root and head, in `p`.
template <class T>
void coefficients_of(const NeighbourView<T>& view, std::int64_t root, std::int64_t head, std::vector<double>& p) {
  const std::int64_t begin = view.offsets[root], end = view.offsets[root + 1];
  const NeighbourScale scale(view.scale, end - begin, view.depth);
  double largest = -INFINITY, sum = 0;
  p.clear();
  for (std::int64_t s = begin; s < end; ++s) {
    p.push_back(scale.score(product_of(view, root, s, head)));
    largest = std::max(largest, p.back());
  }
  for (double& value : p) sum += value = std::exp(value - largest);
  for (double& value : p) value /= sum;
}

template <class T>
void attend(const NeighbourAttention& op, const NeighbourView<T>& view, std::int64_t root, std::vector<double>& p) {
  const std::int64_t begin = view.offsets[root];
  T* const kept = op.coefficients.defined() ? op.coefficients.data<T>() : nullptr;
  for (std::int64_t head = 0; head < op.heads; ++head) {
    coefficients_of(view, root, head, p);
    for (std::size_t i = 0; i < p.size(); ++i) {
      const std::int64_t s = begin + static_cast<std::int64_t>(i);
      if (kept != nullptr) kept[s * op.heads + head] = static_cast<T>(p[i]);
      p[i] *= neighbour_factor(op.dropout, root, static_cast<std::int64_t>(i), head);
    }
    for (std::int64_t c = head * view.depth; c < (head + 1) * view.depth; ++c) {
      double sum = 0;
      for (std::size_t i = 0; i < p.size(); ++i)
        sum += p[i] * seen_by(view, begin + static_cast<std::int64_t>(i), 1, c);
      op.y.data<T>()[root * view.width + c] = static_cast<T>(sum);
    }
    for (std::int64_t c = 0; c < view.codes; ++c) {
      double sum = 0;
      for (std::size_t i = 0; i < p.size(); ++i)
        sum += p[i] * static_cast<double>(view.code[(begin + static_cast<std::int64_t>(i)) * view.codes + c]);
      op.mixed.data<T>()[(root * view.heads + head) * view.codes + c] = static_cast<T>(sum);
    }
  }
}

/// The gradients of the products in front of the softmax of one root and head, in `dproducts`.
template <class T>
void product_gradients(const NeighbourAttentionBackward& op, const NeighbourView<T>& view, std::int64_t root,
                       std::int64_t head, std::vector<double>& dproducts) {
  const std::int64_t begin = view.offsets[root], end = view.offsets[root + 1];
  const NeighbourScale scale(view.scale, end - begin, view.depth);
  double mean = 0;
  dproducts.clear();
  for (std::int64_t s = begin; s < end; ++s) {
    const double change = product_of(view, op.dy.data<T>(), op.dmixed.data<T>(), root, s, 1, head);
    dproducts.push_back(change * neighbour_factor(op.dropout, root, s - begin, head));
    mean += static_cast<double>(op.coefficients.data<T>()[s * op.heads + head]) * dproducts.back();
  }
  for (std::int64_t s = begin; s < end; ++s) {
    double& value = dproducts[s - begin];
    const double slope = scale.is_leaky ? scale.slope(product_of(view, root, s, head)) : scale.factor;
    value = static_cast<double>(op.coefficients.data<T>()[s * op.heads + head]) * (value - mean) * slope;
  }
}

/// p_s d_s of one slot.
template <class T>
double weight_of(const NeighbourAttentionBackward& op, std::int64_t root, std::int64_t s, std::int64_t slot,
                 std::int64_t head) {
  return static_cast<double>(op.coefficients.data<T>()[s * op.heads + head]) *
         neighbour_factor(op.dropout, root, slot, head);
}

/// dq and dseen of one root and head, from the gradients of its products.
template <class T>
void vertices_back(const NeighbourAttentionBackward& op, const NeighbourView<T>& view, std::int64_t root,
                   std::int64_t head, const std::vector<double>& dproducts) {
  const std::int64_t begin = view.offsets[root], end = view.offsets[root + 1], width = view.width;
  for (std::int64_t c = head * view.depth; c < (head + 1) * view.depth; ++c) {
    const double q = static_cast<double>(view.q[root * width + c]),
                 dy = static_cast<double>(op.dy.data<T>()[root * width + c]);
    double dq = 0;
    for (std::int64_t s = begin; s < end; ++s) {
      const double down = dproducts[s - begin];
      dq += down * seen_by(view, s, 0, c);
      op.dseen.data<T>()[s * 2 * width + c] = static_cast<T>(down * q);
      op.dseen.data<T>()[s * 2 * width + width + c] = static_cast<T>(weight_of<T>(op, root, s, s - begin, head) * dy);
    }
    op.dq.data<T>()[root * width + c] = static_cast<T>(dq);
  }
}

/// dcode_query of one root and head; its share of the gradients of the root's codes is added to `dcodes` [slots, C].
template <class T>
void codes_back(const NeighbourAttentionBackward& op, const NeighbourView<T>& view, std::int64_t root,
                std::int64_t head, const std::vector<double>& dproducts, std::vector<double>& dcodes) {
  const std::int64_t begin = view.offsets[root], end = view.offsets[root + 1], codes = view.codes;
  const std::int64_t of_head = (root * view.heads + head) * codes;
  for (std::int64_t c = 0; c < codes; ++c) {
    const double query = static_cast<double>(view.code_query[of_head + c]),
                 dmixed = static_cast<double>(op.dmixed.data<T>()[of_head + c]);
    double dquery = 0;
    for (std::int64_t s = begin; s < end; ++s) {
      const double down = dproducts[s - begin];
      dquery += down * static_cast<double>(view.code[s * codes + c]);
      dcodes[(s - begin) * codes + c] += down * query + weight_of<T>(op, root, s, s - begin, head) * dmixed;
    }
    op.dcode_query.data<T>()[of_head + c] = static_cast<T>(dquery);
  }
}

template <class T>
void attend_back(const NeighbourAttentionBackward& op, const NeighbourView<T>& view, std::int64_t root,
                 std::vector<double>& dproducts, std::vector<double>& dcodes) {
  const std::int64_t begin = view.offsets[root], end = view.offsets[root + 1];
  dcodes.assign((end - begin) * view.codes, 0.0);
  for (std::int64_t head = 0; head < op.heads; ++head) {
    product_gradients(op, view, root, head, dproducts);
    vertices_back(op, view, root, head, dproducts);
    codes_back(op, view, root, head, dproducts, dcodes);
  }
  T* const dcode = op.dcode.data<T>() + begin * view.codes;
  for (std::size_t i = 0; i < dcodes.size(); ++i) dcode[i] = static_cast<T>(dcodes[i]);
}

void run_neighbours(const NeighbourAttention& op, KernelContext& context) {
  with_element(op.q.type(), [&](auto zero) {
    const auto view = neighbour_view<decltype(zero)>(op);
    for_ranges(context, op.q.rows(), 64, [&](std::int64_t begin, std::int64_t end) {
      std::vector<double> p;
      for (std::int64_t root = begin; root < end; ++root) attend(op, view, root, p);
    });
  });
}

void run_neighbours_back(const NeighbourAttentionBackward& op, KernelContext& context) {
  with_element(op.q.type(), [&](auto zero) {
    const auto view = neighbour_view<decltype(zero)>(op);
    for_ranges(context, op.q.rows(), 64, [&](std::int64_t begin, std::int64_t end) {
      std::vector<double> dproducts, dcodes;
      for (std::int64_t root = begin; root < end; ++root) attend_back(op, view, root, dproducts, dcodes);
    });
  });
}

const RegisterKernel<NeighbourAttention> forward{"cpu", {"plain", 0, nullptr, run_neighbours}};
const RegisterKernel<NeighbourAttentionBackward> backward{"cpu", {"plain", 0, nullptr, run_neighbours_back}};

}  // namespace
}  // namespace strobe
