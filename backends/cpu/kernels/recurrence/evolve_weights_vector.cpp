// Vector evolution of a layer's weights. The columns of a weight matrix are sequences of their own, so they are cut
// into ranges of a register's width; a task carries one range through all steps in scratch memory that stays in cache,
// with the tiles of tile.hpp for the products and vector exp for the gates. Where the input is the state itself, an
// LSTM multiplies with Wx + Wh once. Parameter gradients are summed in double over the steps of a range, then range
// after range: nothing depends on the number of threads. Cost at most 4 gates F^2 G FLOPs per step, twice that
// backward.
#include <vector>

#include "backends/cpu/kernels/dense/tile.hpp"
#include "backends/cpu/kernels/lane_math.hpp"
#include "backends/cpu/kernels/range_sums.hpp"
#include "backends/cpu/kernels/support.hpp"
#include "backends/operations/operations_evolve.hpp"

namespace strobe {
namespace {

using namespace cpu;

constexpr std::int64_t range_columns = 16;

/// A scratch array that may be read one register past its end.
template <class T>
struct Scratch {
  std::vector<T> values;
  explicit Scratch(std::int64_t count) : values(static_cast<std::size_t>(count + most_lanes<T>), T{0}) {}
  T* data() { return values.data(); }
};

/// y[i] = function(x[i]) in full registers; x and y may be the same array.
template <class T, class Function>
void each(const T* x, T* y, std::int64_t count, const Function& function) {
  constexpr int P = most_lanes<T>;
  for_lanes<T>(0, count, [&](std::int64_t i, int lanes) {
    store_first<T, P>(y + i, function(load_first<T, P>(x + i, lanes)), lanes);
  });
}

/// C [rows, width] (+)= A [rows, inner] B [inner, width], B and C contiguous.
template <class T>
void product(const T* a, std::int64_t a_row, std::int64_t a_inner, const T* b, std::int64_t inner, std::int64_t rows,
             std::int64_t width, T* c, bool accumulate) {
  multiply(Factors<T>{a, a_row, a_inner, b, width, inner}, rows, width,
           ProductStore<T>{.to = c, .stride = width, .accumulate = accumulate});
}

/// Columns [first, first + width) of [rows, stride] matrices to and from contiguous scratch.
template <class T>
void copy_columns(const T* from, std::int64_t from_stride, T* to, std::int64_t to_stride, std::int64_t rows,
                  std::int64_t width) {
  for (std::int64_t r = 0; r < rows; ++r)
    std::memcpy(to + r * to_stride, from + r * from_stride, static_cast<std::size_t>(width) * sizeof(T));
}

/// Shared by forward and backward: sizes and the gate weights.
template <class T>
struct Sizes {
  EvolveCell cell;
  std::int64_t f, g, steps;
  const T *wx, *wh;
  const T* summary;  // null: the state is the input
  std::int64_t gates() const { return gates_of(cell); }
  std::int64_t kept() const { return kept_of(cell); }

  /// x_t of columns [first, first + width): transposed rows of the summary, [F, width].
  void read_input(std::int64_t t, std::int64_t first, std::int64_t width, T* x) const {
    for (std::int64_t c = 0; c < width; ++c) {
      for (std::int64_t i = 0; i < f; ++i) x[i * width + c] = summary[(t * g + first + c) * f + i];
    }
  }
};

template <class Op, class T>
Sizes<T> sizes_of(const Op& op) {
  return {op.cell,
          op.start.rows(),
          op.start.columns(),
          op.steps(),
          op.wx.template data<T>(),
          op.wh.template data<T>(),
          op.summary.defined() ? op.summary.template data<T>() : nullptr};
}

/// One range of columns carried forward through all steps.
template <class T>
class ForwardRange {
 public:
  ForwardRange(const EvolveWeights& op, const Sizes<T>& s, const T* merged, std::int64_t first, std::int64_t width)
      : op_(op),
        s_(s),
        merged_(merged),
        first_(first),
        width_(width),
        n_(s.f * width),
        state_(n_),
        memory_(n_),
        x_(n_),
        reset_(n_),
        kept_(s.kept() * n_),
        bias_(s.gates() * n_) {}

  void run() {
    copy_columns(op_.start.data<T>() + first_, s_.g, state_.data(), width_, s_.f, width_);
    if (op_.start_cell.defined()) {
      copy_columns(op_.start_cell.data<T>() + first_, s_.g, memory_.data(), width_, s_.f, width_);
    }
    copy_columns(op_.bias.data<T>() + first_, s_.g, bias_.data(), width_, s_.gates() * s_.f, width_);
    for (std::int64_t t = 0; t < s_.steps; ++t) {
      if (s_.summary != nullptr) s_.read_input(t, first_, width_, x_.data());
      s_.cell == EvolveCell::lstm ? lstm() : gru();
      copy_columns(state_.data(), width_, op_.weights.data<T>() + t * s_.f * s_.g + first_, s_.g, s_.f, width_);
      copy_columns(kept_.data(), width_, op_.kept.data<T>() + t * s_.kept() * s_.f * s_.g + first_, s_.g,
                   s_.kept() * s_.f, width_);
    }
  }

 private:
  /// The first `gates` gates before activation, into kept_.
  void gate_sums(std::int64_t gates) {
    T* kept = kept_.data();
    const std::int64_t rows = gates * s_.f;
    std::copy(bias_.data(), bias_.data() + rows * width_, kept);
    if (merged_ != nullptr) return product(merged_, s_.f, 1, state_.data(), s_.f, rows, width_, kept, true);
    product(s_.wx, s_.f, 1, x_.data(), s_.f, rows, width_, kept, true);
    product(s_.wh, s_.f, 1, state_.data(), s_.f, rows, width_, kept, true);
  }

  void lstm() {
    gate_sums(4);
    T* kept = kept_.data();
    each(kept, kept, 2 * n_, [](auto v) { return sigmoid<T, most_lanes<T>>(v); });
    each(kept + 2 * n_, kept + 2 * n_, n_, [](auto v) { return cpu::tanh<T, most_lanes<T>>(v); });
    each(kept + 3 * n_, kept + 3 * n_, n_, [](auto v) { return sigmoid<T, most_lanes<T>>(v); });
    T *memory = memory_.data(), *state = state_.data();
    for (std::int64_t i = 0; i < n_; ++i)
      kept[4 * n_ + i] = memory[i] = kept[n_ + i] * memory[i] + kept[i] * kept[2 * n_ + i];
    each(memory, state, n_, [](auto v) { return cpu::tanh<T, most_lanes<T>>(v); });
    for (std::int64_t i = 0; i < n_; ++i) state[i] *= kept[3 * n_ + i];
  }

  void gru() {
    gate_sums(2);
    T *kept = kept_.data(), *state = state_.data(), *reset = reset_.data(), *candidate = kept + 2 * n_;
    each(kept, kept, 2 * n_, [](auto v) { return sigmoid<T, most_lanes<T>>(v); });
    for (std::int64_t i = 0; i < n_; ++i) reset[i] = kept[n_ + i] * state[i];
    std::copy(bias_.data() + 2 * n_, bias_.data() + 3 * n_, candidate);
    const T* x = s_.summary == nullptr ? state : x_.data();
    product(s_.wx + 2 * s_.f * s_.f, s_.f, 1, x, s_.f, s_.f, width_, candidate, true);
    product(s_.wh + 2 * s_.f * s_.f, s_.f, 1, static_cast<const T*>(reset), s_.f, s_.f, width_, candidate, true);
    each(candidate, candidate, n_, [](auto v) { return cpu::tanh<T, most_lanes<T>>(v); });
    for (std::int64_t i = 0; i < n_; ++i) state[i] += kept[i] * (candidate[i] - state[i]);
  }

  const EvolveWeights& op_;
  const Sizes<T>& s_;
  const T* merged_;  // Wx + Wh when the state is the input
  std::int64_t first_, width_, n_;
  Scratch<T> state_, memory_, x_, reset_, kept_, bias_;
};

/// Wx + Wh when the state is the input, else empty.
template <class T>
std::vector<T> merged_weights(const Sizes<T>& s) {
  if (s.summary != nullptr) return {};
  std::vector<T> sum(s.gates() * s.f * s.f);
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = s.wx[i] + s.wh[i];
  return sum;
}

void run_forward(const EvolveWeights& op, KernelContext& context) {
  with_element(op.start.type(), [&](auto zero) {
    using T = decltype(zero);
    const Sizes<T> s = sizes_of<EvolveWeights, T>(op);
    const std::vector<T> merged = merged_weights(s);
    for_ranges(context, s.g, range_columns, [&](std::int64_t begin, std::int64_t end) {
      ForwardRange<T>(op, s, merged.empty() ? nullptr : merged.data(), begin, end - begin).run();
    });
  });
}

const RegisterKernel<EvolveWeights> forward{"cpu", {"vector", 10, nullptr, run_forward}};

/// One range of columns carried back through all steps. `sums` [2 gates F F]: its parts of dwx and dwh.
template <class T>
class BackwardRange {
 public:
  BackwardRange(const EvolveWeightsBackward& op, const Sizes<T>& s, std::int64_t first, std::int64_t width,
                double* sums)
      : op_(op),
        s_(s),
        first_(first),
        width_(width),
        n_(s.f * width),
        sums_x_(sums),
        sums_h_(sums + s.gates() * s.f * s.f),
        h_(n_),
        x_(n_),
        turned_(n_),
        kept_(s.kept() * n_),
        before_(n_),
        dh_(n_),
        back_(n_),
        dc_(n_),
        dx_(n_),
        reset_(n_),
        dreset_(n_),
        dgates_(s.gates() * n_),
        dbias_(static_cast<std::size_t>(s.gates() * n_), 0.0) {}

  void run() {
    if (op_.dlast_cell.defined()) {
      copy_columns(op_.dlast_cell.data<T>() + first_, s_.g, dc_.data(), width_, s_.f, width_);
    }
    for (std::int64_t t = s_.steps; t-- > 0;) step(t);
    if (op_.dstart.defined()) add_columns(op_.dstart, s_.f, back_.data());
    if (op_.dstart_cell.defined()) add_columns(op_.dstart_cell, s_.f, dc_.data());
    add_columns(op_.dbias, s_.gates() * s_.f, dbias_.data());
  }

 private:
  const T* kept_step(std::int64_t t) const { return op_.kept.data<T>() + t * s_.kept() * s_.f * s_.g + first_; }

  /// target columns [first, first + width) += values.
  template <class V>
  void add_columns(const Tensor& target, std::int64_t rows, const V* values) {
    for (std::int64_t i = 0; i < rows * width_; ++i) {
      T& to = target.data<T>()[i / width_ * s_.g + first_ + i % width_];
      to = static_cast<T>(static_cast<V>(to) + values[i]);
    }
  }

  void step(std::int64_t t) {
    const std::int64_t size = s_.f * s_.g;
    const T* previous = t == 0 ? op_.start.data<T>() : op_.weights.data<T>() + (t - 1) * size;
    copy_columns(previous + first_, s_.g, h_.data(), width_, s_.f, width_);
    copy_columns(kept_step(t), s_.g, kept_.data(), width_, s_.kept() * s_.f, width_);
    if (s_.summary != nullptr) s_.read_input(t, first_, width_, x_.data());
    copy_columns(op_.dweights.data<T>() + t * size + first_, s_.g, dh_.data(), width_, s_.f, width_);
    for (std::int64_t i = 0; i < n_; ++i) dh_.data()[i] += back_.data()[i];
    std::fill(back_.data(), back_.data() + n_, T{0});
    std::fill(dx_.data(), dx_.data() + n_, T{0});
    s_.cell == EvolveCell::lstm ? lstm(t) : gru();
    for (std::int64_t i = 0; i < s_.gates() * n_; ++i) dbias_[i] += static_cast<double>(dgates_.data()[i]);
    if (s_.summary != nullptr) {
      store_dsummary(t);
    } else {
      for (std::int64_t i = 0; i < n_; ++i) back_.data()[i] += dx_.data()[i];
    }
    if (op_.detached && t > 0) {
      std::fill(back_.data(), back_.data() + n_, T{0});
      std::fill(dc_.data(), dc_.data() + n_, T{0});
    }
  }

  void store_dsummary(std::int64_t t) {
    if (!op_.dsummary.defined()) return;
    for (std::int64_t c = 0; c < width_; ++c) {
      T* to = op_.dsummary.data<T>() + (t * s_.g + first_ + c) * s_.f;
      for (std::int64_t i = 0; i < s_.f; ++i) {
        const T value = dx_.data()[i * width_ + c];
        to[i] = op_.accumulate_dsummary ? to[i] + value : value;
      }
    }
  }

  /// sums [gates F, F] (rows of `gate` on) += dgates m^T for m [F, width].
  void add_weight_gradient(std::int64_t gate, std::int64_t gates, const T* m, double* sums) {
    T* turned = turned_.data();
    for (std::int64_t i = 0; i < s_.f; ++i) {
      for (std::int64_t c = 0; c < width_; ++c) turned[c * s_.f + i] = m[i * width_ + c];
    }
    const T* d = dgates_.data() + gate * n_;
    double* to = sums + gate * s_.f * s_.f;
    const std::int64_t f = s_.f;
    multiply(Factors<T>{d, width_, 1, turned, f, width_}, gates * f, f, ProductSums{to, f});
  }

  /// to [F, width] += W_gate^T dgate for gates [gate, gate + gates) of `weights`.
  void pull_back(std::int64_t gate, std::int64_t gates, const T* weights, T* to) {
    product(weights + gate * s_.f * s_.f, 1, s_.f, static_cast<const T*>(dgates_.data() + gate * n_), gates * s_.f,
            s_.f, width_, to, true);
  }

  void lstm(std::int64_t t) {
    T *kept = kept_.data(), *d = dgates_.data(), *dc = dc_.data(), *squashed = reset_.data(), *before = before_.data();
    const T* dh = dh_.data();
    if (t > 0) copy_columns(kept_step(t - 1) + 4 * s_.f * s_.g, s_.g, before, width_, s_.f, width_);
    if (t == 0 && !op_.start_cell.defined()) std::fill(before, before + n_, T{0});
    if (t == 0 && op_.start_cell.defined()) {
      copy_columns(op_.start_cell.data<T>() + first_, s_.g, before, width_, s_.f, width_);
    }
    each(kept + 4 * n_, squashed, n_, [](auto v) { return cpu::tanh<T, most_lanes<T>>(v); });
    for (std::int64_t i = 0; i < n_; ++i) {
      const T in = kept[i], forget = kept[n_ + i], candidate = kept[2 * n_ + i], out = kept[3 * n_ + i];
      const T dmemory = dc[i] + dh[i] * out * (T{1} - squashed[i] * squashed[i]);
      d[i] = dmemory * candidate * in * (T{1} - in);
      d[n_ + i] = dmemory * before[i] * forget * (T{1} - forget);
      d[2 * n_ + i] = dmemory * in * (T{1} - candidate * candidate);
      d[3 * n_ + i] = dh[i] * squashed[i] * out * (T{1} - out);
      dc[i] = dmemory * forget;
    }
    add_weight_gradient(0, 4, h_.data(), sums_h_);
    pull_back(0, 4, s_.wh, back_.data());
    if (s_.summary != nullptr) add_weight_gradient(0, 4, x_.data(), sums_x_);
    pull_back(0, 4, s_.wx, dx_.data());
  }

  void gru() {
    T *kept = kept_.data(), *d = dgates_.data(), *h = h_.data(), *reset = reset_.data(), *back = back_.data();
    T* dreset = dreset_.data();
    const T* dh = dh_.data();
    for (std::int64_t i = 0; i < n_; ++i) {
      const T z = kept[i], q = kept[2 * n_ + i];
      d[i] = dh[i] * (q - h[i]) * z * (T{1} - z);
      d[2 * n_ + i] = dh[i] * z * (T{1} - q * q);
      reset[i] = kept[n_ + i] * h[i];
      back[i] = dh[i] * (T{1} - z);
      dreset[i] = T{0};
    }
    pull_back(2, 1, s_.wh, dreset);
    for (std::int64_t i = 0; i < n_; ++i) {
      const T r = kept[n_ + i];
      d[n_ + i] = dreset[i] * h[i] * r * (T{1} - r);
      back[i] += dreset[i] * r;
    }
    add_weight_gradient(2, 1, reset, sums_h_);
    add_weight_gradient(0, 2, h, sums_h_);
    add_weight_gradient(0, 3, s_.summary == nullptr ? h : x_.data(), sums_x_);
    pull_back(0, 2, s_.wh, back);
    pull_back(0, 3, s_.wx, dx_.data());
  }

  const EvolveWeightsBackward& op_;
  const Sizes<T>& s_;
  std::int64_t first_, width_, n_;
  double *sums_x_, *sums_h_;
  Scratch<T> h_, x_, turned_, kept_, before_, dh_, back_, dc_, dx_, reset_, dreset_, dgates_;
  std::vector<double> dbias_;
};

void run_backward(const EvolveWeightsBackward& op, KernelContext& context) {
  const std::int64_t weights = op.wx.elements(), stride = 2 * weights;
  std::vector<double> sums(divide_up(op.start.columns(), range_columns) * stride, 0.0);
  with_element(op.start.type(), [&](auto zero) {
    using T = decltype(zero);
    const Sizes<T> s = sizes_of<EvolveWeightsBackward, T>(op);
    for_ranges(context, s.g, range_columns, [&](std::int64_t begin, std::int64_t end) {
      BackwardRange<T>(op, s, begin, end - begin, sums.data() + begin / range_columns * stride).run();
    });
    // An LSTM that reads its own state has one gradient for both matrices.
    const bool shared = s.summary == nullptr && s.cell == EvolveCell::lstm;
    cpu::add_range_sums<T>(op.dwx, sums, shared ? weights : 0, stride);
    cpu::add_range_sums<T>(op.dwh, sums, weights, stride);
  });
}

const RegisterKernel<EvolveWeightsBackward> backward{"cpu", {"vector", 10, nullptr, run_backward}};

}  // namespace
}  // namespace strobe
