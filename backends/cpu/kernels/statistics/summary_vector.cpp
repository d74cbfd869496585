// Fast choice of a step's best rows: scores of a strip of rows turned in registers (vertex_strip.hpp), compared all at
// once with the worst score that is still kept; what a row is connected to and which vertex it is are only asked for
// rows that may enter. Rows of a layer that is not stored are made from its turned inputs. Steps are the tasks. Cost
// one pass over x.
#include <limits>

#include "backends/cpu/kernels/dense/tile.hpp"
#include "backends/cpu/kernels/dense/vertex_strip.hpp"
#include "backends/cpu/kernels/statistics/candidates.hpp"

namespace strobe {
namespace {

using namespace cpu;

/// Whether a lane of v is not below `bound`; NaN is not.
template <class T>
[[gnu::always_inline]] inline bool any_reaches(Register<T> v, T bound) {
#ifdef STROBE_MASKED_LANES
  if constexpr (sizeof(T) == 4) {
    return _mm512_cmp_ps_mask(reinterpret_cast<__m512>(v), _mm512_set1_ps(bound), _CMP_NLT_UQ) != 0;
  } else {
    return _mm512_cmp_pd_mask(reinterpret_cast<__m512d>(v), _mm512_set1_pd(bound), _CMP_NLT_UQ) != 0;
  }
#else
  for (int i = 0; i < most_lanes<T>; ++i) {
    if (!(v[i] < bound)) return true;
  }
  return false;
#endif
}

/// A value of x . direction below which no row's score, rounded, can reach the worst that is kept.
template <class T>
T least_product(const Best& best, double length) {
  const double product = best.threshold() * length;
  if (length == 0 || std::isinf(product)) return -std::numeric_limits<T>::infinity();
  return static_cast<T>(product - 8.0 * static_cast<double>(std::numeric_limits<T>::epsilon()) * std::abs(product));
}

/// Offers those of the rows [first, first + rows) whose products with the direction, `products`, are not below `least`.
/// Many rows may tie with the worst kept row and lose by their vertex number. So this is checked before their
/// connections, and if one strip needs the check, the next ones probably do too.
template <class T>
void offer_rows(const PickCandidates& op, std::int64_t first, std::int64_t rows, const T* products, T least,
                double length, Best& best) {
  const std::int64_t* const ids = op.ids.data<std::int64_t>();
  constexpr int line = 64 / sizeof(std::int64_t);
  for (int i = 0; i < strip<T>; i += line) __builtin_prefetch(ids + first + 8 * strip<T> + i);
  for (std::int64_t row = first; row < first + rows; ++row) {
    const T product = products[row - first];
    if (product < least || ids[row] < 0) continue;
    const double score = static_cast<T>(static_cast<double>(product) / length);
    const Candidate candidate{score, ids[row] % op.vertices, row};
    if (best.may_enter(candidate) && (!op.only_connected || is_connected(op.a, row))) best.offer(candidate);
  }
}

/// Products of a strip's rows with the direction: of the rows `turned` [F][strip], or of activation(rows weights).
template <class T>
void strip_products(const ChoiceRows<T>& from, const T* weights, const T* direction, const T* turned, Register<T>& left,
                    Register<T>& right) {
  constexpr int P = most_lanes<T>;
  left = right = Register<T>{};
  for (std::int64_t k = 0; k < from.width; ++k) {
    Register<T> one{}, other{};
    if (weights == nullptr) {
      one = load<T, P>(turned + k * strip<T>), other = load<T, P>(turned + k * strip<T> + P);
    } else {
      for (std::int64_t j = 0; j < from.inputs; ++j) {
        one += weights[j * from.width + k] * load<T, P>(turned + j * strip<T>);
        other += weights[j * from.width + k] * load<T, P>(turned + j * strip<T> + P);
      }
      if (from.with_relu) one = relu<T, P>(one), other = relu<T, P>(other);
    }
    left += direction[k] * one;
    right += direction[k] * other;
  }
}

template <class T>
void pick_step(const PickCandidates& op, std::int64_t step, double length) {
  constexpr int P = most_lanes<T>;
  const std::int64_t* rows = op.step_rows.data<std::int64_t>();
  const std::int64_t inputs = op.x.columns();
  const ChoiceRows<T> from(op);
  const T* direction = op.direction.data<T>();
  Scratch<T> turned(inputs * strip<T>), products(strip<T>);
  Best best(op.k);
  for (std::int64_t first = rows[step]; first < rows[step + 1]; first += strip<T>) {
    const std::int64_t count = std::min<std::int64_t>(strip<T>, rows[step + 1] - first);
    load_turned(op.x.data<T>() + first * inputs, inputs, inputs, count, turned.data());
    Register<T> left, right;
    strip_products<T>(from, from.weights(step), direction, turned.data(), left, right);
    const T least = least_product<T>(best, length);
    if (!any_reaches<T>(left, least) && !any_reaches<T>(right, least)) continue;
    store_first<T, P>(products.data(), left, P);
    store_first<T, P>(products.data() + P, right, P);
    offer_rows(op, first, count, static_cast<const T*>(products.data()), least, length, best);
  }
  put_candidates<T>(op, step, best.kept());
}

void run_pick(const PickCandidates& op, KernelContext& context) {
  with_element(op.x.type(), [&](auto zero) {
    using T = decltype(zero);
    const double length = length_of<T>(op.direction);
    run_tasks(context, op.step_rows.rows() - 1, [&](std::int64_t t) { pick_step<T>(op, t, length); });
  });
}

const RegisterKernel<PickCandidates> pick{"cpu", {"vector", 10, nullptr, run_pick}};

}  // namespace
}  // namespace strobe
