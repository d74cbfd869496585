// Compares two ranks' calls: they must agree on the collective, on the root or reduction, and on the rows and width
// that one sends and the other expects.
#include "backends/agreement.hpp"

#include <fmt/format.h>

#include "backends/ordered_sum.hpp"

namespace strobe {
namespace {

std::string_view name_of(const CallSummary& call) {
  const auto kind = static_cast<CollectiveKind>(call.kind);
  return call_name(kind, kind == CollectiveKind::barrier && call.choice != 0);
}

std::int64_t rows_for(const Collective& c, int to) {
  const std::size_t peer = to;
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
  const std::size_t peer = from;
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

std::int64_t choice_of(const Collective& c) {
  if (c.kind == CollectiveKind::all_reduce) return static_cast<std::int64_t>(c.reduction);
  return c.kind == CollectiveKind::barrier ? static_cast<std::int64_t>(c.groups) : 0;
}

std::string compare_message(const Collective& own, int self, const CallSummary& theirs, int peer,
                            const MemberRanks& members) {
  const std::int64_t bytes = rows_for(own, self);
  if (bytes == theirs.rows) return "";
  const bool sends = own.kind == CollectiveKind::send;
  const int sender = world_rank(members, sends ? self : peer), receiver = world_rank(members, sends ? peer : self);
  return fmt::format("send of {} bytes by rank {} meets receive of {} bytes by rank {} (tag {})",
                     sends ? bytes : theirs.rows, sender, sends ? theirs.rows : bytes, receiver, own.tag);
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
          choice_of(collective)};
}

CallSummary kind_summary(const Collective& collective) {
  return {0, 0, static_cast<std::int32_t>(collective.kind), 0, 0, 0, choice_of(collective)};
}

std::string_view call_name(CollectiveKind kind, bool splits) {
  return splits ? "split" : collective_names[static_cast<int>(kind)];
}

std::uint64_t fingerprint(const RankGroups& groups) {
  std::uint64_t print = 0;
  const auto mix = [&print](std::uint64_t number) {  // splitmix64
    print += number + 0x9e3779b97f4a7c15u;
    print = (print ^ (print >> 30)) * 0xbf58476d1ce4e5b9u;
    print = (print ^ (print >> 27)) * 0x94d049bb133111ebu;
    print ^= print >> 31;
  };
  for (const std::vector<int>& group : groups) {
    mix(group.size());
    for (const int rank : group) mix(static_cast<std::uint64_t>(rank));
  }
  return print == 0 ? 1 : print;
}

std::string disagreement(const Collective& own, int self, const CallSummary& theirs, int peer,
                         const MemberRanks& members) {
  if (own.kind == CollectiveKind::send || own.kind == CollectiveKind::receive) {
    return compare_message(own, self, theirs, peer, members);
  }
  const CallSummary mine = kind_summary(own);
  const int me = world_rank(members, self), other = world_rank(members, peer);
  const std::string_view name = name_of(mine);
  if (name != name_of(theirs)) {
    return fmt::format("rank {} called {} where rank {} called {}", me, name, other, name_of(theirs));
  }
  if (own.kind == CollectiveKind::barrier) {
    return mine.choice == theirs.choice ? "" : fmt::format("split: rank {} and rank {} give other groups", me, other);
  }
  if (own.kind == CollectiveKind::broadcast && theirs.root != own.peer) {
    return fmt::format("broadcast: rank {} names root {} where rank {} names root {}", me,
                       world_rank(members, own.peer), other, world_rank(members, theirs.root));
  }
  if (own.kind == CollectiveKind::all_reduce && theirs.choice != mine.choice) {
    return fmt::format("all_reduce: rank {} takes the {} where rank {} takes the {}", me, reduction_names[mine.choice],
                       other, reduction_names[theirs.choice]);
  }
  if (theirs.rows != rows_expected(own, peer)) {
    return fmt::format("{}: rank {} has {} rows for rank {}, which expects {}", name, other, theirs.rows, me,
                       rows_expected(own, peer));
  }
  const bool same_width =
      theirs.columns == own.receive.columns() && theirs.type == static_cast<std::int32_t>(own.receive.type());
  if (theirs.rows != 0 && !same_width) {
    return fmt::format("{}: rows of rank {} and rank {} differ in width or type", name, other, me);
  }
  const bool sums = own.kind == CollectiveKind::all_reduce || own.kind == CollectiveKind::reduce_scatter;
  if (sums && !is_summable(own.receive.type())) return fmt::format("{}: elements of type u8", name);
  return "";
}

}  // namespace strobe
