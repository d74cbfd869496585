// The pages of a mapped file that hold the inputs of blocks, under a limit of host memory: read ahead of their use
// while the rank computes, and let go after it.
#pragma once

#include <optional>
#include <vector>

#include "backends/device.hpp"
#include "backends/host/host_work.hpp"
#include "harness/full_batch/inputs/file_rows.hpp"
#include "harness/full_batch/plan/full_batch_plan.hpp"

namespace strobe {

/// Bytes of all matrices and features of `data` in a file.
double file_bytes(const DataPlan& data, bool fp64);

/// Sets `readers` of the blocks of a simulated job that reads them from files. Cost: the rows of all ranks, once.
void count_readers(FullBatchPlan& plan);

/// One rank's pages. Does nothing unless the plan reads its inputs from a file. Reading is work of the host, so a row
/// has the time that the rank waits for it.
class BlockPages {
 public:
  /// `device` must outlive this object.
  BlockPages(const FullBatchPlan& plan, Device& device);

  /// Waits until the pages of `block` are in memory. Reads them now if nobody asked for them before.
  void await(std::size_t block);
  /// Begins to read the pages of `next`, and lets those of `block` go if it is another one or `done` with.
  void turn(std::size_t block, std::size_t next, bool done);

 private:
  void begin(std::size_t block);

  Device& device_;
  std::vector<std::shared_ptr<const PreparedGraph>> graphs_;
  std::vector<std::vector<GraphRows>> rows_;  // [blocks] of this rank; empty if no file is read
  std::vector<FilePart> parts_;               // [blocks]
  std::optional<std::size_t> begun_;          // the block whose pages are being read
  DeviceEvent read_;                          // when they are there
};

}  // namespace strobe
