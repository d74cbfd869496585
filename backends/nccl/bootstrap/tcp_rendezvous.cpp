// A rendezvous over TCP: rank 0 listens, the others keep one connection to it for the life of the process. Rank 0 sees
// every connection that ends, so a rank that dies is known at once. Invariants: messages of an earlier gathering are
// dropped by their epoch; a stranger that connects (another program, another run's rank) is turned away and harms
// nobody. Cost: 2 (P - 1) messages per gathering, P times the bytes of one rank from rank 0 to each other.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "backends/nccl/bootstrap/link.hpp"
#include "backends/nccl/bootstrap/rendezvous.hpp"

namespace strobe::nccl {
namespace {

constexpr double send_seconds = 30;
constexpr double port_seconds = 10;  // a run before this one may be about to end

std::string pack(const Brought& all) {
  std::string bytes;
  for (const std::optional<std::string>& one : all) {
    const std::int64_t size = one ? static_cast<std::int64_t>(one->size()) : -1;
    bytes.append(reinterpret_cast<const char*>(&size), sizeof(size));
    if (one) bytes += *one;
  }
  return bytes;
}

Brought unpack(const std::string& bytes, int ranks) {
  Brought all(static_cast<std::size_t>(ranks));
  std::size_t at = 0;
  for (std::optional<std::string>& one : all) {
    std::int64_t size = -1;
    if (at + sizeof(size) > bytes.size()) throw SystemError("nccl: rank 0 sent a broken list");
    std::memcpy(&size, bytes.data() + at, sizeof(size));
    at += sizeof(size);
    if (size < 0) continue;
    if (at + static_cast<std::size_t>(size) > bytes.size()) throw SystemError("nccl: rank 0 sent a broken list");
    one = bytes.substr(at, size);
    at += static_cast<std::size_t>(size);
  }
  return all;
}

struct Listener {
  int socket;
  ~Listener() { ::close(socket); }
};

std::string greeting(const LaunchPlace& place, int rank) {
  return fmt::format("{}\n{}\n{}", rank, place.size, place.run_key);
}

/// Rank 0's end.
class Hub final : public Rendezvous {
 public:
  Hub(const LaunchPlace& place, double seconds)
      : Rendezvous(0, place.size), links_(static_cast<std::size_t>(place.size)) {
    Patience patience(seconds);
    const Listener listener{listen_at(place.address, place.port, Patience(std::min(seconds, port_seconds)))};
    std::vector<Link> unknown;
    while (!missing().empty() && !patience.over()) {
      for (int one = accept_from(listener.socket); one >= 0; one = accept_from(listener.socket))
        unknown.emplace_back(one);
      for (Link& link : unknown) greet(link, place);
      std::erase_if(unknown, [](const Link& link) { return !link.alive(); });
      patience.pause();
    }
    const std::vector<int> absent = missing();
    const std::string why = fmt::format("nccl: not all {} ranks reached {}:{} within {:.1f} s; missing ranks: {}",
                                        size(), place.address, place.port, seconds, fmt::join(absent, ", "));
    tell_all({absent.empty() ? Frame::Kind::welcome : Frame::Kind::refusal, 0, absent.empty() ? "" : why});
    if (!absent.empty()) throw SystemError(why);
  }

  Brought gather(const std::string& own, double seconds) override {
    Patience patience(seconds);
    bool hurried = false;
    const auto wanting = [&](std::size_t peer) { return !brought_[peer] && links_[peer].alive(); };
    brought_.resize(links_.size());
    brought_[0] = own;
    for (;;) {
      look();
      bool complete = true;
      for (std::size_t peer = 1; peer < links_.size(); ++peer) complete = complete && !wanting(peer);
      if (complete || patience.over()) break;
      if (!hurried && !why_.empty()) {
        hurried = true;
        patience.shorten(alarm_seconds);
      }
      patience.pause();
    }
    tell_all({Frame::Kind::all, epoch_, pack(brought_)});
    ++epoch_;
    why_.clear();
    return std::exchange(brought_, {});
  }

  void alarm() noexcept override { spread("rank 0 gave up"); }

  std::string alarmed() override {
    look();
    return why_;
  }

 private:
  void greet(Link& link, const LaunchPlace& place) {
    const std::optional<Frame> frame = link.receive();
    if (!frame) return;
    for (int peer = 1; peer < size(); ++peer) {
      if (frame->text != greeting(place, peer) || links_[peer].alive()) continue;
      links_[peer] = std::move(link);
      return;
    }
    link.send(
        {Frame::Kind::refusal, 0,
         fmt::format("nccl: rank 0 of run '{}' with {} ranks turned this rank away: another run, another number of "
                     "ranks, or a rank that came twice",
                     place.run_key, place.size)},
        Patience(1));
    link.close();
  }

  std::vector<int> missing() const {
    std::vector<int> ranks;
    for (int peer = 1; peer < size(); ++peer) {
      if (!links_[peer].alive()) ranks.push_back(peer);
    }
    return ranks;
  }

  void tell_all(const Frame& frame) {
    const Patience patience(send_seconds);
    for (Link& link : links_) link.send(frame, patience);
  }

  void spread(const std::string& why) noexcept {
    try {
      if (why_.empty()) tell_all({Frame::Kind::alarm, epoch_, why});
      if (why_.empty()) why_ = why;
    } catch (const std::exception&) {
      // Out of memory: the others find out at their deadline.
    }
  }

  /// Takes in what has come; spreads the first bad news.
  void look() {
    brought_.resize(links_.size());
    for (std::size_t peer = 1; peer < links_.size(); ++peer) {
      while (const std::optional<Frame> frame = links_[peer].receive()) {
        if (frame->epoch != epoch_) continue;
        if (frame->kind == Frame::Kind::brought) brought_[peer] = frame->text;
        if (frame->kind == Frame::Kind::alarm) spread(frame->text);
      }
      if (!links_[peer].alive() && !brought_[peer]) spread(fmt::format("rank {} is gone", peer));
    }
  }

  std::vector<Link> links_;  // by rank; the own one stays dead
  std::uint32_t epoch_ = 0;
  Brought brought_;
  std::string why_;
};

/// Every other rank's end.
class Spoke final : public Rendezvous {
 public:
  Spoke(const LaunchPlace& place, double seconds) : Rendezvous(place.rank, place.size) {
    const Patience patience(seconds + 1);  // rank 0's word about who is missing comes when its own patience is over
    std::string reason = "nobody answered";
    while (!patience.over()) {
      const int socket = connect_to(place.address, place.port, reason);
      if (socket >= 0 && greet(Link(socket), place, patience)) return;
      patience.pause();
    }
    throw SystemError(fmt::format("nccl: rank {} did not meet rank 0 at {}:{} within {:.1f} s: {}", rank(),
                                  place.address, place.port, seconds, reason));
  }

  Brought gather(const std::string& own, double seconds) override {
    link_.send({Frame::Kind::brought, epoch_, own}, Patience(send_seconds));
    Patience patience(seconds);
    bool hurried = false;
    while (!answer_) {
      look();
      if (answer_) break;
      if (!link_.alive()) throw SystemError("nccl: rank 0 is gone");
      if (patience.over()) throw SystemError(fmt::format("nccl: no word from rank 0 within {:.1f} s", seconds));
      if (!hurried && !why_.empty()) {
        hurried = true;
        patience.shorten(2 * alarm_seconds);  // rank 0 waits for others that long
      }
      patience.pause();
    }
    const std::string packed = *std::exchange(answer_, std::nullopt);
    ++epoch_;
    why_.clear();
    return unpack(packed, size());
  }

  void alarm() noexcept override {
    try {
      link_.send({Frame::Kind::alarm, epoch_, fmt::format("rank {} gave up", rank())}, Patience(1));
    } catch (const std::exception&) {
      // Out of memory: the others find out at their deadline.
    }
  }

  std::string alarmed() override {
    look();
    if (why_.empty() && !link_.alive()) why_ = "rank 0 is gone";
    return why_;
  }

 private:
  /// False when whoever listens there is not, or not yet, this run's rank 0.
  bool greet(Link link, const LaunchPlace& place, const Patience& patience) {
    link.send({Frame::Kind::hello, 0, greeting(place, rank())}, patience);
    while (!patience.over()) {
      if (const std::optional<Frame> frame = link.receive()) {
        if (frame->kind == Frame::Kind::refusal) throw SystemError(frame->text);
        link_ = std::move(link);
        return frame->kind == Frame::Kind::welcome;
      }
      if (!link.alive()) return false;
      patience.pause();
    }
    return false;
  }

  void look() {
    // Frames after the answer belong to the next epoch and stay in the link until then.
    while (!answer_) {
      std::optional<Frame> frame = link_.receive();
      if (!frame) return;
      if (frame->epoch != epoch_) continue;
      if (frame->kind == Frame::Kind::all) answer_ = std::move(frame->text);
      if (frame->kind == Frame::Kind::alarm) why_ = frame->text;
    }
  }

  Link link_;
  std::uint32_t epoch_ = 0;
  std::optional<std::string> answer_;
  std::string why_;
};

}  // namespace

std::unique_ptr<Rendezvous> meet_by_tcp(const LaunchPlace& place, double seconds) {
  if (place.rank == 0) return std::make_unique<Hub>(place, seconds);
  return std::make_unique<Spoke>(place, seconds);
}

std::unique_ptr<Rendezvous> meet(const LaunchPlace& place, double seconds) {
  if (!place.id_file.empty()) return meet_by_files(place);
  if (!place.by_mpi) return meet_by_tcp(place, seconds);
  if (meet_by_mpi() == nullptr) throw no_meeting_point(place, "this program was built without MPI, and ");
  return meet_by_mpi()(seconds);
}

}  // namespace strobe::nccl
