// How ranks of communicator nccl meet when mpirun started them: over MPI. Every rank tells every other what it brings;
// words carry the number of their gathering, because a rank may be one ahead of another. Invariants: nothing here waits
// without a limit or for a rank that does not answer; MPI is called from the thread that launches alone. Cost: P - 1
// small messages per rank and gathering, one MPI_Iprobe per look.
#include "backends/nccl/bootstrap/rendezvous.hpp"

#include <algorithm>
#include <cstring>
#include <list>
#include <map>
#include <utility>

#include "backends/mpi/mpi_call.hpp"
#include "backends/mpi/runtime.hpp"
#include "backends/nccl/bootstrap/patience.hpp"

namespace strobe::mpi {
namespace {

using nccl::Brought;
using nccl::Patience;

constexpr int tag_brought = 1, tag_alarm = 2;

class MpiRendezvous final : public nccl::Rendezvous {
 public:
  explicit MpiRendezvous(Runtime& runtime)
      : Rendezvous(runtime.rank(), runtime.size()), runtime_(runtime), communicator_(runtime.new_communicator()) {}

  ~MpiRendezvous() override {
    if (!outgoing_.empty()) Runtime::abandon(std::make_shared<std::list<Outgoing>>(std::move(outgoing_)));
  }

  Brought gather(const std::string& own, double seconds) override {
    Patience patience(seconds);
    bool hurried = false;
    tell_all(tag_brought, own);
    at(number_).brought[rank()] = own;
    for (;;) {
      look();
      const Gathering& now = at(number_);
      if (std::count(now.brought.begin(), now.brought.end(), std::nullopt) == 0) break;
      if (patience.over()) {
        runtime_.lose_ranks();
        break;
      }
      if (!hurried && !now.why.empty()) {
        hurried = true;
        patience.shorten(alarm_seconds);
      }
      patience.pause();
    }
    Brought all = std::move(at(number_).brought);
    gatherings_.erase(number_++);
    return all;
  }

  void alarm() noexcept override {
    try {
      tell_all(tag_alarm, "");
    } catch (const std::exception&) {
      // The others find out at their deadline.
    }
  }

  std::string alarmed() override {
    look();
    return at(number_).why;
  }

 private:
  struct Gathering {
    Brought brought;
    std::string why;
  };
  struct Outgoing {
    std::string bytes;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  /// Gathering `number`; another rank may mention it before this rank reaches it.
  Gathering& at(std::int64_t number) {
    Gathering& one = gatherings_[number];
    one.brought.resize(size());
    return one;
  }

  void tell_all(int tag, const std::string& text) {
    outgoing_.remove_if([](Outgoing& sent) { return test(sent.request); });
    for (int peer = 0; peer < size(); ++peer) {
      if (peer == rank()) continue;
      Outgoing& message = outgoing_.emplace_back();
      message.bytes.assign(reinterpret_cast<const char*>(&number_), sizeof(number_));
      message.bytes += text;
      check(MPI_Isend(message.bytes.data(), static_cast<int>(message.bytes.size()), MPI_BYTE, peer, tag, communicator_,
                      &message.request),
            "MPI_Isend");
    }
  }

  void look() {
    for (;;) {
      int arrived = 0, bytes = 0;
      MPI_Status status;
      check(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, communicator_, &arrived, &status), "MPI_Iprobe");
      if (arrived == 0) return;
      check(MPI_Get_count(&status, MPI_BYTE, &bytes), "MPI_Get_count");
      std::string words(static_cast<std::size_t>(bytes), '\0');
      check(
          MPI_Recv(words.data(), bytes, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, communicator_, MPI_STATUS_IGNORE),
          "MPI_Recv");
      take(status, words);
    }
  }

  void take(const MPI_Status& status, const std::string& words) {
    std::int64_t number = 0;
    if (words.size() < sizeof(number)) throw SystemError("nccl: a rank sent a broken word");
    std::memcpy(&number, words.data(), sizeof(number));
    if (number < number_) return;  // its rank was given up
    if (status.MPI_TAG == tag_alarm) {
      at(number).why = "rank " + std::to_string(status.MPI_SOURCE) + " gave up";
    } else {
      at(number).brought[status.MPI_SOURCE] = words.substr(sizeof(number));
    }
  }

  Runtime& runtime_;
  MPI_Comm communicator_;
  std::int64_t number_ = 0;  // of the gathering at hand
  std::map<std::int64_t, Gathering> gatherings_;
  std::list<Outgoing> outgoing_;  // until MPI has taken them
};

std::unique_ptr<nccl::Rendezvous> meet(double seconds) {
  Runtime& runtime = Runtime::instance();
  runtime.await_all(seconds);
  return std::make_unique<MpiRendezvous>(runtime);
}

[[maybe_unused]] const bool offered = [] {
  nccl::meet_by_mpi() = meet;
  return true;
}();

}  // namespace
}  // namespace strobe::mpi
