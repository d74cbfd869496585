#include "harness/run/fusion_profile.hpp"

#include <vector>

#include "harness/full_batch/full_batch_schedule.hpp"
#include "harness/full_batch/full_batch_trainer.hpp"
#include "harness/full_batch/plan/measured_fusion.hpp"
#include "harness/full_batch/plan/own_part.hpp"
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

std::shared_ptr<const PlannedCase> with_measured_fusion(const std::shared_ptr<const PlannedCase>& plan,
                                                        const LaunchRequest& launch) {
  const FullBatchPlan* const full = full_batch_or_null(*plan);
  if (full == nullptr || full->fusion == nullptr || !full->fusion->to_measure) return plan;
  const std::shared_ptr<FullBatchPlan> alone = plan_chunks_alone(*full);
  if (const std::optional<Rank> own = alone->only_rank()) keep_own_part(*alone, *own, alone->node.get());
  auto schedule = own_full_batch_schedule(fuse_as_measured(*full, measured_bytes(*alone, launch)));
  std::vector<std::string> notes = schedule->summary().notes;
  const std::ptrdiff_t known = full->notes.size();  // later notes say how the plan was chosen
  notes.insert(notes.end(), plan->notes.begin() + known, plan->notes.end());
  return std::make_shared<const PlannedCase>(
      PlannedCase{plan->request, std::move(schedule), std::move(notes), plan->load_seconds, plan->until});
}

}  // namespace strobe
