// The collectives that a rank has started and not completed, on all its communicators.
#pragma once

#include <memory>
#include <vector>

#include "backends/mpi/operation.hpp"

namespace strobe::mpi {

/// Moves the data of these collectives between two operations of the device, as long as any are left; a device has one
/// such hook. Operations of a communicator that has ended stay, because MPI may still write to their buffers.
class UnderWay final : private BetweenOperations {
 public:
  explicit UnderWay(Device& device) : device_(device) {}
  ~UnderWay() override;
  UnderWay(const UnderWay&) = delete;
  UnderWay& operator=(const UnderWay&) = delete;

  bool empty() const { return operations_.empty(); }
  /// Makes progress on the others, then posts this one.
  void start(const std::shared_ptr<Operation>& operation);
  void remove(const Operation& operation);

 private:
  void look_after() override { progress(); }
  void progress();

  Device& device_;
  std::vector<std::shared_ptr<Operation>> operations_;
};

}  // namespace strobe::mpi
