// Compares two ranks' calls: the same collective, the same root or reduction, and as many rows of the same width sent
// as expected.
#include "backends/agreement.hpp"

#include <fmt/format.h>

#include "backends/ordered_sum.hpp"

namespace strobe {
namespace {

std::string_view name_of(std::int32_t kind) { return collective_names[kind]; }
std::string_view name_of(Reduction reduction) { return reduction_names[static_cast<int>(reduction)]; }

std::int64_t rows_for(const Collective& c, int to) {
  const auto peer = static_cast<std::size_t>(to);
  switch (c.kind) {
    case CollectiveKind::all_to_all_v:
    case CollectiveKind::reduce_scatter:
      return c.send_rows[peer].count;
    case CollectiveKind::send:
      return static_cast<std::int64_t>(c.send.bytes());
    case CollectiveKind::receive:
      return static_cast<std::int64_t>(c.receive.bytes());
    case CollectiveKind::barrier:
      return 0;
    default:
      return c.send.rows();
  }
}

std::int64_t rows_expected(const Collective& c, int from) {
  const auto peer = static_cast<std::size_t>(from);
  switch (c.kind) {
    case CollectiveKind::all_to_all_v:
    case CollectiveKind::all_gather_v:
      return c.receive_rows[peer].count;
    case CollectiveKind::barrier:
      return 0;
    default:
      return c.receive.rows();
  }
}

std::string compare_message(const Collective& own, int self, const CallSummary& theirs, int peer) {
  const std::int64_t bytes = rows_for(own, self);
  if (bytes == theirs.rows) return "";
  const bool sends = own.kind == CollectiveKind::send;
  return fmt::format("send of {} bytes by rank {} meets receive of {} bytes by rank {} (tag {})",
                     sends ? bytes : theirs.rows, sends ? self : peer, sends ? theirs.rows : bytes, sends ? peer : self,
                     own.tag);
}

}  // namespace

CallSummary summary_for(const Collective& collective, int to) {
  const Tensor& sent = collective.kind == CollectiveKind::receive ? collective.receive : collective.send;
  return {rows_for(collective, to),
          sent.columns(),
          static_cast<std::int32_t>(collective.kind),
          static_cast<std::int32_t>(sent.type()),
          collective.kind == CollectiveKind::broadcast ? collective.peer : 0,
          collective.tag,
          static_cast<std::int64_t>(collective.reduction)};
}

std::string disagreement(const Collective& own, int self, const CallSummary& theirs, int peer) {
  const auto kind = static_cast<std::int32_t>(own.kind);
  if (own.kind == CollectiveKind::send || own.kind == CollectiveKind::receive) {
    return compare_message(own, self, theirs, peer);
  }
  if (theirs.kind != kind) {
    return fmt::format("rank {} called {} where rank {} called {}", self, name_of(kind), peer, name_of(theirs.kind));
  }
  if (own.kind == CollectiveKind::barrier) return "";
  if (own.kind == CollectiveKind::broadcast && theirs.root != own.peer) {
    return fmt::format("broadcast: rank {} names root {} where rank {} names root {}", self, own.peer, peer,
                       theirs.root);
  }
  if (own.kind == CollectiveKind::all_reduce && theirs.reduction != static_cast<std::int64_t>(own.reduction)) {
    return fmt::format("all_reduce: rank {} takes the {} where rank {} takes the {}", self, name_of(own.reduction),
                       peer, reduction_names[theirs.reduction]);
  }
  if (theirs.rows != rows_expected(own, peer)) {
    return fmt::format("{}: rank {} has {} rows for rank {}, which expects {}", name_of(kind), peer, theirs.rows, self,
                       rows_expected(own, peer));
  }
  const bool same_width =
      theirs.columns == own.receive.columns() && theirs.type == static_cast<std::int32_t>(own.receive.type());
  if (theirs.rows != 0 && !same_width) {
    return fmt::format("{}: rows of rank {} and rank {} differ in width or type", name_of(kind), peer, self);
  }
  const bool sums = own.kind == CollectiveKind::all_reduce || own.kind == CollectiveKind::reduce_scatter;
  if (sums && !is_summable(own.receive.type())) return fmt::format("{}: elements of type u8", name_of(kind));
  return "";
}

}  // namespace strobe
