// Returns how the members of a meeting disagree, or nothing. Cost: ranks^2 comparisons for collectives whose rows
// differ per pair, ranks otherwise.
#include "backends/agreement.hpp"
#include "backends/local/meeting.hpp"

namespace strobe::local {
namespace {

bool rows_differ_per_pair(CollectiveKind kind) {
  return kind == CollectiveKind::all_to_all_v || kind == CollectiveKind::all_gather_v ||
         kind == CollectiveKind::reduce_scatter;
}

std::string message_mismatch(const std::vector<Slot>& slots, const MemberRanks& ranks) {
  const Collective& sent = slots[0].collective;
  const Collective& received = slots[1].collective;
  return disagreement(received, sent.peer, summary_for(sent, sent.peer), received.peer, ranks);
}

}  // namespace

std::string find_mismatch(const std::vector<Slot>& slots, const MemberRanks& ranks) {
  const CollectiveKind kind = slots[0].collective.kind;
  if (kind == CollectiveKind::send) return message_mismatch(slots, ranks);
  const int size = static_cast<int>(slots.size());
  const auto compare = [&](int from, int to) {
    const Collective& sender = slots[from].collective;
    const Collective& receiver = slots[to].collective;
    // A rank in another collective has no rows for anyone; its kind alone is compared.
    const CallSummary summary = sender.kind == receiver.kind ? summary_for(sender, to) : kind_summary(sender);
    return disagreement(receiver, to, summary, from, ranks);
  };
  // First everyone against rank 0: kinds, roots and shapes that all share. Only then are per-pair rows comparable.
  for (int to = 0; to < size; ++to) {
    std::string mismatch = compare(0, to);
    if (!mismatch.empty()) return mismatch;
  }
  for (int from = 1; rows_differ_per_pair(kind) && from < size; ++from) {
    for (int to = 0; to < size; ++to) {
      std::string mismatch = compare(from, to);
      if (!mismatch.empty()) return mismatch;
    }
  }
  return "";
}

}  // namespace strobe::local
