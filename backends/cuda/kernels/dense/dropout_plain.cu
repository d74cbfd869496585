// Plain dropout (Srivastava et al., JMLR 2014): one thread for four features of a row, which share one Philox block, so
// that every word is drawn once and the cells dropped are those of every other device. Cost: one launch; x read once, y
// written once (read too with accumulate), a row's id once per four features; about 100 integer operations per block.
#include "backends/cuda/kernel_language.hpp"
#include "backends/operations/operations_statistics.hpp"
#include "core/random.hpp"

namespace strobe::cuda {
namespace dropout_plain_kernels {

constexpr int threads = 256;
constexpr int words_per_block = 4;

template <class T>
struct Drop {
  const T* x;
  const std::int64_t* ids;
  T* y;
  std::int64_t rows, width, groups;  // groups of four features in a row
  T scale;
  std::uint64_t limit;  // a word below it is dropped
  std::uint64_t seed;
  std::uint32_t key;
  bool accumulate;
};

template <class T>
__global__ void drop(Drop<T> d) {
  for (std::int64_t i = grid_thread(); i < d.rows * d.groups; i += grid_threads()) {
    const std::int64_t row = i / d.groups, first = i % d.groups * words_per_block;
    const std::uint64_t id = d.ids[row];
    const auto words = philox({static_cast<std::uint32_t>(id), static_cast<std::uint32_t>(id >> 32),
                               random_purpose::dropout + (static_cast<std::uint32_t>(first) << 8), d.key},
                              {static_cast<std::uint32_t>(d.seed), static_cast<std::uint32_t>(d.seed >> 32)});
    for (int w = 0; w < words_per_block && first + w < d.width; ++w) {
      const std::int64_t at = row * d.width + first + w;
      const T kept = words[w] < d.limit ? T{0} : d.scale * d.x[at];
      d.y[at] = d.accumulate ? d.y[at] + kept : kept;
    }
  }
}

void run_dropout(const Dropout& op, KernelContext& context) {
  with_element(op.x.type(), [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t groups = (op.x.columns() + words_per_block - 1) / words_per_block;
    const Drop<T> d{op.x.data<T>(),
                    op.ids.data<std::int64_t>(),
                    op.y.data<T>(),
                    op.x.rows(),
                    op.x.columns(),
                    groups,
                    static_cast<T>(1.0 / (1.0 - op.rate)),
                    static_cast<std::uint64_t>(op.rate * 0x1.0p32),
                    op.seed,
                    op.key,
                    op.accumulate};
    launch(context, blocks_for(d.rows * groups, threads), threads, 0, drop<T>, d);
  });
}

const RegisterKernel<Dropout> plain{"cuda", {"plain", 0, nullptr, run_dropout}};

}  // namespace dropout_plain_kernels
}  // namespace strobe::cuda
