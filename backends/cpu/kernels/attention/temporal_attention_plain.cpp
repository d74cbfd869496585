// Plain attention over a vertex's own past (DySAT: Sankar et al., WSDM'20, section 4.3) and its gradient, by the
// definitions: one vertex, one head and one query step at a time, softmax with the maximum taken off. Backward
// recomputes the weights. Vertices are independent; the sums over vertices in doffsets are taken in vertex order
// afterwards. Cost 2 T^2 F FLOPs per vertex forward, 5 T^2 F backward.
#include <cmath>
#include <vector>

#include "backends/cpu/kernels/support.hpp"
#include "backends/operations/operations_attention.hpp"

namespace strobe {
namespace {

constexpr std::int64_t vertices_per_task = 64;

/// One vertex's timeline, or a lane of packed sequences.
struct Timeline {
  std::int64_t vertex, vertices, total, width, heads;
  double scale;
  const std::int32_t* sequences;  // [total * vertices, 3] of packed sequences
  std::vector<double> values;     // [total, 3 F], offsets added

  /// For the row at step t of the lane: where its sequence begins, its step in the graph, and whether it asks.
  std::int64_t begin(std::int64_t t) const { return sequences == nullptr ? 0 : sequences[3 * (t * vertices + vertex)]; }
  std::int64_t step(std::int64_t t) const {
    return sequences == nullptr ? t : sequences[3 * (t * vertices + vertex) + 1];
  }
  bool wanted(std::int64_t t) const { return sequences == nullptr || sequences[3 * (t * vertices + vertex) + 2] != 0; }
  std::int64_t depth() const { return width / heads; }
  /// Part 0 query, 1 key, 2 value of one head at one step.
  const double* at(std::int64_t step, int part, std::int64_t head) const {
    return values.data() + (step * 3 + part) * width + head * depth();
  }
  double* at(std::vector<double>& other, std::int64_t step, int part, std::int64_t head) const {
    return other.data() + (step * 3 + part) * width + head * depth();
  }
};

template <class T, class Op>
Timeline timeline_of(const Op& op, std::int64_t vertex, std::int64_t vertices) {
  Timeline line{vertex,
                vertices,
                op.first + op.steps,
                op.projected.columns() / 3,
                op.heads,
                op.scale,
                op.sequences.template data<std::int32_t>(),
                {}};
  const T *projected = op.projected.template data<T>(), *offsets = op.offsets.template data<T>();
  for (std::int64_t t = 0; t < line.total; ++t) {
    for (std::int64_t i = 0; i < 3 * line.width; ++i) {
      const double offset = offsets == nullptr ? 0.0 : static_cast<double>(offsets[t * 3 * line.width + i]);
      line.values.push_back(static_cast<double>(projected[(t * vertices + vertex) * 3 * line.width + i]) + offset);
    }
  }
  return line;
}

double dot(const double* a, const double* b, std::int64_t count) {
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

/// Dropout's factors of the query at step t for the steps up to t.
std::vector<double> factors_of(const AttentionDropout& dropout, const Timeline& line, std::int64_t t,
                               std::int64_t head) {
  std::vector<double> factors(static_cast<std::size_t>(t) + 1, 1.0);
  const std::int64_t id = line.sequences == nullptr ? line.vertex : t * line.vertices + line.vertex;
  for (std::int64_t s = line.begin(t); dropout.drops() && s <= t; ++s)
    factors[s] = dropout.of_past(id, line.step(t), line.step(s), head);
  return factors;
}

/// Weights of the query at step t over the steps up to t, before dropout; zero in front of its sequence.
std::vector<double> weights_of(const Timeline& line, std::int64_t t, std::int64_t head) {
  std::vector<double> weights(static_cast<std::size_t>(t) + 1, 0.0);
  double largest = -INFINITY, sum = 0;
  const auto first = weights.begin() + line.begin(t);
  for (auto weight = first; weight != weights.end(); ++weight) {
    *weight = line.scale * dot(line.at(t, 0, head), line.at(weight - weights.begin(), 1, head), line.depth());
    largest = std::max(largest, *weight);
  }
  for (auto weight = first; weight != weights.end(); ++weight) sum += * weight = std::exp(*weight - largest);
  for (auto weight = first; weight != weights.end(); ++weight) *weight /= sum;
  return weights;
}

template <class T>
void forward_vertex(const TemporalAttention& op, std::int64_t vertex) {
  const std::int64_t n = op.vertices();
  const Timeline line = timeline_of<T>(op, vertex, n);
  for (std::int64_t head = 0; head < op.heads; ++head) {
    for (std::int64_t t = op.first; t < line.total; ++t) {
      T* o = op.o.data<T>() + ((t - op.first) * n + vertex) * line.width + head * line.depth();
      std::fill_n(o, line.depth(), T{0});
      if (!line.wanted(t)) continue;
      const std::vector<double> weights = weights_of(line, t, head), factors = factors_of(op.dropout, line, t, head);
      for (std::int64_t d = 0; d < line.depth(); ++d) {
        double sum = 0;
        for (std::int64_t s = line.begin(t); s <= t; ++s) {
          const std::size_t at = s;
          sum += weights[at] * factors[at] * line.at(s, 2, head)[d];
        }
        o[d] = static_cast<T>(sum);
      }
    }
  }
}

void run_forward(const TemporalAttention& op, KernelContext& context) {
  cpu::with_element(op.o.type(), [&](auto zero) {
    cpu::for_ranges(context, op.vertices(), vertices_per_task, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t v = begin; v < end; ++v) forward_vertex<decltype(zero)>(op, v);
    });
  });
}

/// Adds the gradients of one query to `grown` [total, 3 F].
void backward_query(const AttentionDropout& dropout, const Timeline& line, std::int64_t t, std::int64_t head,
                    const std::vector<double>& d_o, std::vector<double>& grown) {
  const std::vector<double> weights = weights_of(line, t, head), factors = factors_of(dropout, line, t, head);
  std::vector<double> dweights(weights.size(), 0.0);
  double mean = 0;
  for (std::int64_t s = line.begin(t); s <= t; ++s) {
    const std::size_t at = s;
    dweights[at] = factors[at] * dot(d_o.data(), line.at(s, 2, head), line.depth());
    mean += weights[at] * dweights[at];
  }
  for (std::int64_t s = line.begin(t); s <= t; ++s) {
    const double weight = weights[s];
    const double dscore = line.scale * weight * (dweights[s] - mean);
    for (std::int64_t d = 0; d < line.depth(); ++d) {
      line.at(grown, t, 0, head)[d] += dscore * line.at(s, 1, head)[d];
      line.at(grown, s, 1, head)[d] += dscore * line.at(t, 0, head)[d];
      line.at(grown, s, 2, head)[d] += weight * factors[s] * d_o[d];
    }
  }
}

template <class T>
void backward_vertex(const TemporalAttentionBackward& op, std::int64_t vertex, std::int64_t n) {
  const Timeline line = timeline_of<T>(op, vertex, n);
  std::vector<double> grown(line.values.size(), 0.0);
  for (std::int64_t head = 0; head < op.heads; ++head) {
    for (std::int64_t t = op.first; t < line.total; ++t) {
      if (!line.wanted(t)) continue;
      const T* d_o = op.d_o.data<T>() + ((t - op.first) * n + vertex) * line.width + head * line.depth();
      backward_query(op.dropout, line, t, head, std::vector<double>(d_o, d_o + line.depth()), grown);
    }
  }
  for (std::int64_t t = 0; t < line.total; ++t) {
    for (std::int64_t i = 0; i < 3 * line.width; ++i) {
      op.dprojected.data<T>()[(t * n + vertex) * 3 * line.width + i] = static_cast<T>(grown[t * 3 * line.width + i]);
    }
  }
}

template <class T>
void sum_offsets(const TemporalAttentionBackward& op, std::int64_t n) {
  const std::int64_t width = op.projected.columns();
  for (std::int64_t i = 0; i < op.doffsets.elements(); ++i) {
    double sum = 0;
    for (std::int64_t v = 0; v < n; ++v)
      sum += static_cast<double>(op.dprojected.data<T>()[(i / width * n + v) * width + i % width]);
    op.doffsets.data<T>()[i] = static_cast<T>(sum);
  }
}

void run_backward(const TemporalAttentionBackward& op, KernelContext& context) {
  const std::int64_t n = op.steps == 0 ? 0 : op.d_o.rows() / op.steps;
  cpu::with_element(op.d_o.type(), [&](auto zero) {
    using T = decltype(zero);
    cpu::for_ranges(context, n, vertices_per_task, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t v = begin; v < end; ++v) backward_vertex<T>(op, v, n);
    });
    sum_offsets<T>(op, n);
  });
}

const RegisterKernel<TemporalAttention> forward{"cpu", {"plain", 0, nullptr, run_forward}};
const RegisterKernel<TemporalAttentionBackward> backward{"cpu", {"plain", 0, nullptr, run_backward}};

}  // namespace
}  // namespace strobe
