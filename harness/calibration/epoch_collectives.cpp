// A rank issues the same collectives in every epoch. All ranks issue those of one kind in the same order, so the k-th
// of each rank is one collective. Its bytes are the busiest rank's. Invariant: every such collective is part of exactly
// one sample. Cost O(spans log spans).
#include <algorithm>
#include <map>
#include <tuple>

#include "harness/calibration/collective_timings.hpp"
#include "results/row/statistics.hpp"

namespace strobe {
namespace {

/// One collective of one rank.
struct Call {
  double bytes = 0, messages = 0;  // that the rank sends
  double seconds = 0, flight_seconds = 0;
};

bool among_all_ranks(std::string_view name) {
  for (const CollectiveKind kind : {CollectiveKind::send, CollectiveKind::receive, CollectiveKind::barrier})
    if (name == collective_names[static_cast<int>(kind)]) return false;
  return true;
}

/// The calls of a rank by name, in their order. The span of a call's flight ends the call. Before it there is one span
/// of waiting for it. A rank that moves data between its operations also has one span for each such moment.
std::map<std::string_view, std::vector<Call>> calls_of(const std::vector<Span>& spans) {
  std::map<std::string_view, std::vector<Call>> calls;
  std::map<std::string_view, Call> under_way;
  for (const Span& span : spans) {
    if (span.phase != Phase::communicate || span.stream != Stream::communicate || !among_all_ranks(span.name)) continue;
    const double seconds = span.end_seconds - span.begin_seconds;
    Call& call = under_way[span.name];
    if (span.blocking) {
      call.bytes += static_cast<double>(span.sent_bytes);
      call.messages += span.messages;
      call.seconds += seconds;
    } else {
      call.flight_seconds = seconds;
      calls[span.name].push_back(call);
      call = {};
    }
  }
  return calls;
}

/// Gives every call the amounts of its busiest rank. Returns false if ranks did not call equally often.
bool share_amounts(std::vector<std::vector<Call>*>& ranks) {
  for (const std::vector<Call>* calls : ranks)
    if (calls->size() != ranks.front()->size()) return false;
  for (std::size_t k = 0; k < ranks.front()->size(); ++k) {
    double bytes = 0, messages = 0;
    for (const std::vector<Call>* calls : ranks) {
      bytes = std::max(bytes, (*calls)[k].bytes);
      messages = std::max(messages, (*calls)[k].messages);
    }
    for (std::vector<Call>* calls : ranks) {
      (*calls)[k].bytes = bytes;
      (*calls)[k].messages = messages;
    }
  }
  return true;
}

using Amounts = std::pair<double, double>;  // bytes, messages

/// Seconds of one rank's calls, by their amounts.
std::map<Amounts, std::vector<double>> by_amounts(const std::vector<Call>& calls, double Call::*seconds) {
  std::map<Amounts, std::vector<double>> all;
  for (const Call& call : calls)
    if (call.bytes > 0) all[{call.bytes, call.messages}].push_back(call.*seconds);
  return all;
}

/// The median over ranks and epochs, by amounts.
std::map<Amounts, double> typical(const std::vector<std::vector<Call>*>& ranks, const KeptEpochs& epochs,
                                  double Call::*seconds) {
  std::map<Amounts, std::vector<double>> all;
  for (const std::vector<Call>* calls : ranks) {
    for (const auto& [amounts, times] : by_amounts(*calls, seconds)) {
      const EpochMeans means = epoch_means(times, epochs);
      all[amounts].insert(all[amounts].end(), means.seconds.begin(), means.seconds.end());
    }
  }
  std::map<Amounts, double> medians;
  for (const auto& [amounts, means] : all) medians[amounts] = median(means);
  return medians;
}

}  // namespace

std::vector<CollectiveTiming> epoch_collectives(const std::vector<std::vector<Span>>& spans, const KeptEpochs& epochs,
                                                const std::string& workload) {
  std::vector<CollectiveTiming> samples;
  if (spans.size() < 2) return samples;
  std::vector<std::map<std::string_view, std::vector<Call>>> calls;
  for (const std::vector<Span>& rank : spans) calls.push_back(calls_of(rank));
  for (const auto& [name, first] : calls.front()) {
    std::vector<std::vector<Call>*> ranks;
    for (auto& rank : calls) ranks.push_back(&rank[name]);
    if (!share_amounts(ranks)) continue;
    const std::map<Amounts, double> flights = typical(ranks, epochs, &Call::flight_seconds);
    for (const auto& [amounts, seconds] : typical(ranks, epochs, &Call::seconds)) {
      CollectiveTiming sample;
      sample.collective = std::string(name);
      sample.ranks = static_cast<int>(spans.size());
      std::tie(sample.bytes, sample.messages) = amounts;
      sample.seconds = seconds;
      sample.flight_seconds = flights.at(amounts);
      sample.workload = workload;
      samples.push_back(std::move(sample));
    }
  }
  return samples;
}

std::vector<CollectiveTiming> samples_to_fit(const std::vector<CollectiveTiming>& samples) {
  double least = 0, most = -1;
  for (const CollectiveTiming& s : samples) {
    if (s.workload.empty()) continue;
    least = most < 0 ? s.bytes : std::min(least, s.bytes);
    most = std::max(most, s.bytes);
  }
  std::vector<CollectiveTiming> kept;
  for (const CollectiveTiming& s : samples)
    if (!s.workload.empty() || s.bytes < least || s.bytes > most) kept.push_back(s);
  return kept;
}

}  // namespace strobe
