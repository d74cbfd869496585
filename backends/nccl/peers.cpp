// Invariants: a meeting of threads is settled before NCCL's result is waited for, so ranks that disagree get an error
// instead of moving other ranks' bytes to wrong places. Meetings only carry the ranks' word: their own stages, which
// would copy the data, are never run.
#include "backends/nccl/peers.hpp"

namespace strobe::nccl {

struct ThreadPeers::Place {
  local::MeetingKey key;
  int member = 0;
  std::shared_ptr<local::Meeting> meeting;
};

void ThreadPeers::check() {
  if (threads_.failed()) throw PeerFailed("another rank failed");
}

std::shared_ptr<void> ThreadPeers::enter(const Collective& collective, double seconds) {
  auto place = std::make_shared<Place>();
  const bool sends = collective.kind == CollectiveKind::send, receives = collective.kind == CollectiveKind::receive;
  if (sends || receives) {
    const int from = sends ? rank_ : collective.peer, to = sends ? collective.peer : rank_;
    place->key = {group_, from, to, collective.tag, messages_[{from, to, collective.tag}]++};
    place->member = sends ? 0 : 1;
  } else {
    place->key = {group_, -1, -1, 0, collectives_++};
    place->member = rank_;
  }
  const int entrants = sends || receives ? 2 : size_;
  place->meeting = threads_.world().enter(place->key, entrants, members_, place->member, collective, seconds);
  return place;
}

double ThreadPeers::await(const Collective& collective, const std::shared_ptr<void>& state, double timeout_seconds) {
  const Place& place = *static_cast<const Place*>(state.get());
  constexpr double longest_seconds = 1e9;
  const std::chrono::duration<double> timeout(std::min(timeout_seconds, longest_seconds));
  const auto deadline = local::Clock::now() + std::chrono::duration_cast<local::Clock::duration>(timeout);
  if (!threads_.world().await(*place.meeting, -1, deadline)) {
    std::vector<int> missing = threads_.world().missing(*place.meeting);
    if (place.key.is_message() && !missing.empty()) missing = {collective.peer};
    for (int& rank : missing) rank = world_rank(members_, rank);
    const std::string name(collective_names[static_cast<int>(collective.kind)]);
    throw CollectiveTimeout(name, world_rank(members_, rank_), timeout_seconds, std::move(missing));
  }
  if (!place.meeting->mismatch().empty()) throw Error("ranks disagree: " + place.meeting->mismatch());
  return place.meeting->ready_seconds();
}

void ThreadPeers::leave(const std::shared_ptr<void>& state) {
  const Place& place = *static_cast<const Place*>(state.get());
  threads_.world().leave(place.key, *place.meeting, place.member);
}

std::unique_ptr<Peers> ThreadPeers::split(std::uint64_t split, std::size_t index, const MemberRanks& members,
                                          int rank) {
  const local::GroupNumber group = threads_.world().group(group_, split, index);
  return std::unique_ptr<Peers>(new ThreadPeers(threads_, group, members, static_cast<int>(members->size()), rank));
}

void ProcessPeers::check() {
  const auto now = Patience::Clock::now();
  if (rendezvous_ == nullptr || now < next_look_) return;
  next_look_ = now + std::chrono::milliseconds(1);
  const std::string why = rendezvous_->alarmed();
  if (!why.empty()) throw PeerFailed(why);
}

}  // namespace strobe::nccl
