// Sums spans by phase and name. Invariant: the parts of a run add up to its mean epoch over ranks and epochs, up to the
// rounding of begin + length.
#include "harness/validation/span_parts.hpp"

#include <algorithm>
#include <cmath>

namespace strobe {
namespace {

std::string part_name(const Span& span) {
  std::string name = std::string(phase_names[span.phase]) + " " + std::string(span.name);
  if (span.phase == Phase::communicate) {
    name += " " + std::string(traffic_names[span.traffic]);
  }
  return name;
}

/// The measured epochs of a rank in the traced repetition, which is the last.
std::vector<const EpochSample*> epochs_of(const std::vector<EpochSample>& samples, int rank) {
  int last = 0;
  for (const EpochSample& sample : samples) last = std::max(last, sample.repetition);
  std::vector<const EpochSample*> epochs;
  for (const EpochSample& sample : samples) {
    if (sample.rank == rank && !sample.warmup && sample.repetition == last) epochs.push_back(&sample);
  }
  return epochs;
}

bool inside(const Span& span, const EpochSample& sample) {
  const double slack = 1e-9 * sample.epoch_seconds;
  const double begin = sample.begin_seconds - slack, end = begin + sample.epoch_seconds + 2 * slack;
  return span.begin_seconds >= begin && span.end_seconds <= end;
}

}  // namespace

SpanParts span_parts(const std::vector<EpochSample>& samples, const std::vector<std::vector<Span>>& spans) {
  SpanParts parts;
  double epochs = 0, covered = 0, total = 0;
  for (std::size_t rank = 0; rank < spans.size(); ++rank) {
    const auto own = epochs_of(samples, static_cast<int>(rank));
    epochs += static_cast<double>(own.size());
    for (const EpochSample* sample : own) total += sample->epoch_seconds;
    for (const Span& span : spans[rank]) {
      if (!span.blocking) continue;
      if (std::none_of(own.begin(), own.end(), [&](const EpochSample* epoch) { return inside(span, *epoch); }))
        continue;
      SpanPart& part = parts[part_name(span)];
      part.seconds += span.end_seconds - span.begin_seconds;
      part.count += 1;
      covered += span.end_seconds - span.begin_seconds;
    }
  }
  if (epochs == 0) return {};
  parts["other"].seconds += std::max(0.0, total - covered);
  for (auto& [name, part] : parts) {
    part.seconds /= epochs;
    part.count /= epochs;
  }
  return parts;
}

std::vector<std::vector<Span>> last_epoch_spans(const std::vector<EpochSample>& samples,
                                                const std::vector<std::vector<Span>>& spans) {
  std::vector<std::vector<Span>> kept(spans.size());
  for (std::size_t rank = 0; rank < spans.size(); ++rank) {
    const auto own = epochs_of(samples, static_cast<int>(rank));
    if (own.empty()) continue;
    for (const Span& span : spans[rank]) {
      if (inside(span, *own.back())) kept[rank].push_back(span);
    }
  }
  return kept;
}

void average_in(SpanParts& parts, const SpanParts& more, int runs) {
  for (auto& [name, part] : parts) {
    part.seconds *= static_cast<double>(runs) / (runs + 1);
    part.count *= static_cast<double>(runs) / (runs + 1);
  }
  for (const auto& [name, part] : more) {
    parts[name].seconds += part.seconds / (runs + 1);
    parts[name].count += part.count / (runs + 1);
  }
}

std::vector<PartDifference> largest_differences(const SpanParts& predicted, const SpanParts& measured,
                                                std::size_t most) {
  std::map<std::string, PartDifference> all;
  for (const auto& [name, part] : predicted) all[name].predicted_seconds = part.seconds;
  for (const auto& [name, part] : measured) all[name].measured_seconds = part.seconds;
  std::vector<PartDifference> differences;
  for (auto& [name, difference] : all) {
    difference.part = name;
    differences.push_back(difference);
  }
  std::stable_sort(differences.begin(), differences.end(), [](const PartDifference& a, const PartDifference& b) {
    return std::abs(a.difference()) > std::abs(b.difference());
  });
  if (differences.size() > most) differences.resize(most);
  return differences;
}

}  // namespace strobe
