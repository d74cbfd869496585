// Separates the operations of a model's structure encoders from those of its time encoders, forward and backward.
#pragma once

#include <memory>
#include <vector>

#include "models/snapshots/model.hpp"

namespace strobe {

/// Seconds of a pass, by the two parts that DGC's MLPs predict.
struct StageSeconds {
  double structure = 0, time = 0;
  double sum() const { return structure + time; }
};

/// The places in a device's spans where the stages of a pass change.
class StageMarks {
 public:
  /// Starts a new pass, which begins with structure encoders.
  void begin(Device& device);
  /// Marks the next operations, until the next change, as those of time encoders or of structure encoders. The
  /// `skipped` operations before it belong to neither.
  void change(Device& device, bool time, std::size_t skipped = 0);
  bool in_time() const { return marks_.back().time; }
  /// Seconds of compute spans since `begin`, by stage.
  StageSeconds seconds(Device& device) const;

 private:
  struct Mark {
    std::size_t before = 0, from = 0;  // spans where the stage before ends, and where this one begins
    bool time = false;
  };
  std::vector<Mark> marks_;
};

/// Returns `model` with marks around its spatial stages, also in the backward pass. In layers that walk timelines, the
/// operations after a spatial stage belong to the time encoder. All others belong to structure encoders. `marks` must
/// outlive the result.
std::shared_ptr<const Model> staged_model(std::shared_ptr<const Model> model, std::vector<LayerShape> layers,
                                          StageMarks& marks);

}  // namespace strobe
