// Communicator `nccl`: one GPU per rank; data moves on the device's communicate stream by NCCL.
#pragma once

#include <memory>
#include <vector>

#include "backends/communicator.hpp"
#include "backends/device.hpp"
#include "backends/nccl/calls.hpp"
#include "backends/nccl/peers.hpp"

namespace strobe::nccl {

/// One rank's end of an NCCL communicator: the launch's, or a group's, which NCCL splits from its parent. The NCCL
/// resources of groups are freed with the launch's communicator, so that a rank which is done with a group waits for
/// nobody. All communicators of a rank share one stream. Sums are added in an order that NCCL chooses by size and
/// topology: the same bits on every rank and, on the same machines, in every run, but not always those of communicators
/// local and mpi, which add in rank order. A maximum leaves out NaNs, unless all ranks bring one: NCCL takes it with
/// fmax, and its guide promises nothing. Messages between two ranks arrive in the order of their start, whatever their
/// tags.
class NcclCommunicator final : public Communicator {
 public:
  /// Joins; every rank must. Throws CollectiveTimeout when that takes longer than the request's timeout.
  NcclCommunicator(Device& device, int rank, const LaunchRequest& request, const calls::UniqueId& id, Peers& peers);
  /// Leaves cleanly when nothing is under way, and otherwise cancels it.
  ~NcclCommunicator() override;

  bool max_keeps_nan() const override { return false; }
  /// Collectives that were started and not yet completed, by this rank on all its communicators.
  bool has_operations_under_way() const { return family_->under_way != 0; }

 private:
  /// A collective that NCCL has got, or a message that waits for it.
  struct Posted {
    DeviceEvent begin, end;  // on the communicate stream
    double started_seconds = 0;
    std::shared_ptr<void> place;
  };
  using PostedPointer = std::shared_ptr<Posted>;
  struct Message {
    Collective collective;
    PostedPointer posted;
  };
  /// State that the communicators of one rank share.
  struct Family {
    std::vector<std::unique_ptr<calls::Handle>>
        groups;                            // in the order in which they were made; null: the split made none
    std::byte* token = nullptr;            // the value that a barrier adds up, and a split compares
    calls::Handle given = nullptr;         // the handle through which NCCL got `unsettled`
    std::vector<PostedPointer> unsettled;  // perhaps not yet on the stream
    int under_way = 0;
  };

  NcclCommunicator(NcclCommunicator& parent, calls::Handle handle, std::unique_ptr<Peers> peers, MemberRanks members,
                   int rank);

  std::unique_ptr<Communicator> do_split(const RankGroups& groups, const OwnGroup& own) override;
  void check_agreement(const RankGroups& groups);
  void end_all();
  std::shared_ptr<void> do_start(const Collective& collective) override;
  Completion do_wait(const Collective& collective, const std::shared_ptr<void>& state) override;

  void give(const std::vector<Collective>& collectives, const std::vector<PostedPointer>& posted);
  void give_messages();
  void give_one(const Collective& collective);
  void exchange(const Collective& collective);
  void gather(const Collective& collective);
  void reduce_parts(const Collective& collective);
  /// Waits until NCCL has put all requests on the stream; until then it must not get more.
  void settle(std::string_view what);
  template <class Done>
  void poll(std::string_view what, double seconds, const Done& done);
  calls::Stream stream() const { return stream_; }

  calls::Stream stream_;                // the device's, for communication
  std::unique_ptr<Family> own_family_;  // the launch's communicator's
  Family* family_;
  std::unique_ptr<Peers> own_peers_;  // a group's
  Peers& peers_;
  calls::Handle handle_ = nullptr;
  std::vector<Message> messages_;  // started, not yet given to NCCL
};

}  // namespace strobe::nccl
