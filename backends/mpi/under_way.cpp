// Moving data takes this rank's time, so it is no more hidden than waiting is, and gets a span; a look that found
// nothing to do is not worth one.
#include "backends/mpi/under_way.hpp"

#include <algorithm>

namespace strobe::mpi {

UnderWay::~UnderWay() {
  device_.between_operations(nullptr);
  // MPI may still write to what was started and never completed.
  for (std::shared_ptr<Operation>& operation : operations_) Runtime::abandon(std::move(operation));
}

void UnderWay::start(const std::shared_ptr<Operation>& operation) {
  progress();
  operations_.push_back(operation);
  operation->post();
  device_.between_operations(this);
}

void UnderWay::remove(const Operation& operation) {
  std::erase_if(operations_, [&](const auto& other) { return other.get() == &operation; });
  if (operations_.empty()) device_.between_operations(nullptr);
}

void UnderWay::progress() {
  constexpr double least_seconds = 5e-6;
  if (operations_.empty()) return;
  const double begin = device_.now();
  for (const std::shared_ptr<Operation>& operation : operations_) operation->progress();
  if (device_.now() - begin < least_seconds) return;
  const Collective& first = operations_.front()->collective();
  device_.spans().append({collective_names[static_cast<int>(first.kind)],
                          Phase::communicate,
                          Stream::communicate,
                          first.traffic,
                          true,
                          begin,
                          device_.now(),
                          {},
                          0,
                          0,
                          0});
}

}  // namespace strobe::mpi
