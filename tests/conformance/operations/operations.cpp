// The list of families and the comparison: the one file that compiles the cases of all operations.
#include "tests/conformance/operations/operations.hpp"

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "tests/conformance/operations/attention.hpp"
#include "tests/conformance/operations/block.hpp"
#include "tests/conformance/operations/copy.hpp"
#include "tests/conformance/operations/dense.hpp"
#include "tests/conformance/operations/distance.hpp"
#include "tests/conformance/operations/edge_attention.hpp"
#include "tests/conformance/operations/events.hpp"
#include "tests/conformance/operations/evolve.hpp"
#include "tests/conformance/operations/fading.hpp"
#include "tests/conformance/operations/fused.hpp"
#include "tests/conformance/operations/gate.hpp"
#include "tests/conformance/operations/gather.hpp"
#include "tests/conformance/operations/join.hpp"
#include "tests/conformance/operations/links.hpp"
#include "tests/conformance/operations/loss.hpp"
#include "tests/conformance/operations/memory.hpp"
#include "tests/conformance/operations/pair.hpp"
#include "tests/conformance/operations/past.hpp"
#include "tests/conformance/operations/pointwise.hpp"
#include "tests/conformance/operations/recurrent.hpp"
#include "tests/conformance/operations/sparse.hpp"
#include "tests/conformance/operations/spmm_of_dense.hpp"
#include "tests/conformance/operations/statistics.hpp"
#include "tests/conformance/operations/step_convolution.hpp"
#include "tests/conformance/operations/store.hpp"
#include "tests/conformance/operations/time.hpp"
#include "tests/conformance/operations/update.hpp"

namespace strobe::conformance {
namespace {

std::vector<OperationFamily> recurrent_families() {
  return {family<LstmSequence>(recurrent_cases<LstmSequence>()),
          family<LstmSequenceBackward>(recurrent_backward_cases<LstmSequence>()),
          family<GruSequence>(recurrent_cases<GruSequence>()),
          family<GruSequenceBackward>(recurrent_backward_cases<GruSequence>())};
}

std::vector<OperationFamily> event_families() {
  return {edge_attention_family(false),
          edge_attention_family(true),
          family<NeighbourAttention>(neighbour_cases(false)),
          family<NeighbourAttentionBackward>(neighbour_cases(true)),
          family<PairScores>(pair_scores_cases(false)),
          family<PairScoresBackward>(pair_scores_cases(true)),
          family<BinaryCrossEntropy>(binary_cross_entropy_cases())};
}

/// Makes the process keep the memory that it releases: cases take and release megabytes, and would spend up to two
/// thirds of their time having the same pages cleared by the system again.
void keep_released_memory() {
#if defined(__GLIBC__)
  static const bool once = [] {
    constexpr int taken_at_once = 64 * 1024 * 1024;
    mallopt(M_MMAP_MAX, 0);  // allocations with a mapping of their own
    mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
    return mallopt(M_TOP_PAD, taken_at_once) == 1;
  }();
  static_cast<void>(once);
#endif
}

/// Relative tolerance of one value against the magnitude of its terms.
double tolerance(ElementType precision) { return precision == ElementType::f32 ? 1e-5 : 1e-12; }

}  // namespace

std::vector<OperationFamily> operation_families() {
  std::vector<OperationFamily> all{family<Spmm>(spmm_cases()),
                                   family<SpmmTransposed>(spmm_transposed_cases()),
                                   family<GraphConvolution>(graph_convolution_cases()),
                                   family<GraphConvolutionBackward>(graph_convolution_backward_cases()),
                                   family<DenseMTransform>(dense_m_transform_cases(false)),
                                   family<DenseMTransformBackward>(dense_m_transform_cases(true)),
                                   family<Dense>(dense_cases()),
                                   family<DenseBackward>(dense_backward_cases()),
                                   family<MTransform>(m_transform_cases()),
                                   family<CopyRows>(copy_rows_cases()),
                                   family<CopyRuns>(copy_runs_cases()),
                                   family<Fill>(fill_cases()),
                                   family<AddScaled>(add_scaled_cases()),
                                   family<RowDistances>(row_distances_cases()),
                                   family<SoftmaxCrossEntropy>(softmax_cases()),
                                   family<WeightedCrossEntropy>(weighted_cross_entropy_cases()),
                                   family<MeanSquaredError>(mean_squared_error_cases()),
                                   family<BlockDense>(block_dense_cases()),
                                   family<BlockDenseBackward>(block_dense_backward_cases()),
                                   family<StepDense>(step_dense_cases()),
                                   family<StepDenseBackward>(step_dense_backward_cases()),
                                   family<EvolveWeights>(evolve_cases()),
                                   family<EvolveWeightsBackward>(evolve_backward_cases()),
                                   family<PickCandidates>(pick_candidates_cases()),
                                   family<ChooseCandidates>(choose_candidates_cases()),
                                   family<SummariseRows>(summarise_cases()),
                                   family<SummariseRowsBackward>(summarise_backward_cases()),
                                   family<GraphAttention>(graph_attention_cases(false)),
                                   family<GraphAttentionBackward>(graph_attention_cases(true)),
                                   family<TemporalAttention>(temporal_attention_cases(false)),
                                   family<TemporalAttentionBackward>(temporal_attention_cases(true)),
                                   family<SgdStep>(sgd_cases()),
                                   family<AdamStep>(adam_cases())};
  for (auto& x : {recurrent_families(), statistics_families(), gate_families(), store_families(), fading_families(),
                  join_families(), joined_dense_families(), gathered_dense_families(), step_convolution_families(),
                  of_dense_families(), spmm_pair_families(), event_families(), memory_families(), pointwise_families()})
    all.insert(all.end(), x.begin(), x.end());
  return all;
}

std::string first_difference(const Output& output, double limit) {
  if (output.got.size() != output.expected.size()) return output.name + " has the wrong number of values";
  for (std::size_t i = 0; i < output.got.size(); ++i) {
    const Judged& judged = output.expected[i];
    const double error = std::abs(output.got[i] - judged.value);
    if (!(error <= limit * judged.magnitude + 1e-30)) {
      return fmt::format("{}[{}] is {:.9g}, expected {:.9g} (error {:.3g}, allowed {:.3g})", output.name, i,
                         output.got[i], judged.value, error, limit * judged.magnitude);
    }
  }
  return "";
}

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0);
}

std::map<std::string, std::string> variants_of_cases(const OperationFamily& family, Numerics numerics,
                                                     const std::string& device, ElementType precision,
                                                     const std::string& variant) {
  keep_released_memory();
  const std::shared_ptr<ChosenKernels> chosen = family.note_chosen(numerics);
  std::map<std::string, std::string> variants;
  DeviceRequest request;
  request.precision = precision;
  request.kernel_variant = variant;
  for (const OperationCase& one : *family.cases) {
    const std::unique_ptr<Device> made = DeviceRegistry::instance().find(device).value(request);
    try {
      one.run(*made);
    } catch (const KernelWasChosen& kernel) {
      variants[one.name] = kernel.variant;
    } catch (const Unavailable&) {
    }
  }
  return variants;
}

std::set<std::string> chosen_variants(const OperationFamily& family, Numerics numerics, const std::string& device) {
  std::set<std::string> chosen;
  for (const ElementType precision : {ElementType::f32, ElementType::f64}) {
    for (const auto& [name, variant] : variants_of_cases(family, numerics, device, precision, ""))
      chosen.insert(variant);
  }
  return chosen;
}

std::vector<std::string> check(const OperationCase& one, const std::string& device, ElementType precision,
                               const std::string& variant, const std::vector<int>& threads) {
  keep_released_memory();
  std::vector<std::string> wrong;
  std::vector<Output> first;
  for (const int count : threads) {
    DeviceRequest request;
    request.precision = precision;
    request.threads = count;
    request.kernel_variant = variant;
    const std::unique_ptr<Device> made = DeviceRegistry::instance().find(device).value(request);
    std::vector<Output> outputs = one.run(*made);
    const std::string where =
        one.operation + "/" + variant + " " + one.name + ", " + std::to_string(count) + " threads: ";
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const std::string difference = first_difference(outputs[i], tolerance(precision));
      if (!difference.empty()) wrong.push_back(where + difference);
      if (!first.empty() && !same_bits(first[i].got, outputs[i].got)) {
        wrong.push_back(where + outputs[i].name + " depends on the number of threads");
      }
    }
    if (first.empty()) first = std::move(outputs);
  }
  return wrong;
}

}  // namespace strobe::conformance
