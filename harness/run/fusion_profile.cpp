#include "harness/run/fusion_profile.hpp"

#include <vector>

#include "core/system/process_memory.hpp"
#include "harness/full_batch/full_batch_schedule.hpp"
#include "harness/full_batch/full_batch_trainer.hpp"
#include "harness/full_batch/plan/measured_fusion.hpp"
#include "harness/run/gather.hpp"

namespace strobe {
namespace {

/// The bytes that each chunk takes in one epoch, [P][chunks of the rank in each block]. Every unit of `plan` must be
/// one chunk.
std::vector<std::vector<std::uint64_t>> measured_bytes(const FullBatchPlan& plan, LaunchRequest launch) {
  launch.device.memory_limit_bytes = 0;
  const auto& comm = CommunicatorRegistry::instance().find(plan.request.comm, "/comm").value;
  std::vector<std::vector<std::uint64_t>> bytes(plan.ranks());
  comm.launch(launch, [&](Device& device, Communicator& communicator) {
    UnitMeter meter;
    FullBatchTrainer trainer(plan, device, communicator);
    trainer.measure_units(meter);
    trainer.epoch(0);
    device.synchronize();
    bytes[device.rank()] = meter.bytes();
    if (comm.world_size() > 0) bytes = share_numbers(communicator, meter.bytes());
  });
  return bytes;
}

}  // namespace

std::shared_ptr<const PlannedCase> measuring_case(const PlannedCase& plan) {
  const FullBatchPlan* const full = full_batch_or_null(plan);
  if (full == nullptr || full->fusion == nullptr || !full->fusion->to_measure) return nullptr;
  PlannedCase measuring = plan;
  measuring.schedule = own_full_batch_schedule(plan_chunks_alone(*full));
  return std::make_shared<const PlannedCase>(std::move(measuring));
}

std::shared_ptr<const PlannedCase> with_measured_fusion(const std::shared_ptr<const PlannedCase>& plan,
                                                        const LaunchRequest& launch) {
  std::shared_ptr<const PlannedCase> measuring = measuring_case(*plan);
  if (measuring == nullptr) return plan;
  spare_process_memory(plan->request.host_memory_limit_gib > 0);
  const std::vector<std::vector<std::uint64_t>> bytes = measured_bytes(full_batch(*measuring), launch);
  measuring = nullptr;
  const FullBatchPlan* const full = &full_batch(*plan);
  auto schedule = own_full_batch_schedule(fuse_as_measured(*full, bytes));
  std::vector<std::string> notes = schedule->summary().notes;
  const std::ptrdiff_t known = full->notes.size();  // later notes say how the plan was chosen
  notes.insert(notes.end(), plan->notes.begin() + known, plan->notes.end());
  return std::make_shared<const PlannedCase>(
      PlannedCase{plan->request, std::move(schedule), std::move(notes), plan->load_seconds, plan->until});
}

}  // namespace strobe
