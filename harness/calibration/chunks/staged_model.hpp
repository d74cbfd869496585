// Tells which of a model's operations belong to structure encoders and which to time encoders, forward and backward.
#pragma once

#include <memory>
#include <vector>

#include "models/snapshots/model.hpp"

namespace strobe {

/// Seconds of a pass, by the two parts that DGC's two MLPs predict.
struct StageSeconds {
  double structure = 0, time = 0;
  double sum() const { return structure + time; }
};

/// Where in a device's spans the stages of a pass change.
class StageMarks {
 public:
  /// Forgets a pass; what comes next is of structure encoders.
  void begin(Device& device);
  /// From the next operation on until the next change: time encoders, or structure encoders. `skipped` operations
  /// before it belong to neither.
  void change(Device& device, bool time, std::size_t skipped = 0);
  bool in_time() const { return marks_.back().time; }
  /// Compute spans from `begin` on, by stage.
  StageSeconds seconds(Device& device) const;

 private:
  struct Mark {
    std::size_t before = 0, from = 0;  // spans of the stage before end, and those of this one begin
    bool time = false;
  };
  std::vector<Mark> marks_;
};

/// `model`, whose spatial stages begin and end with marks, on the way back too: what follows a spatial stage of a layer
/// with a timeline to walk is its time encoder's, everything else the structure encoders'. `marks` must outlive it.
std::shared_ptr<const Model> staged_model(std::shared_ptr<const Model> model, std::vector<LayerShape> layers,
                                          StageMarks& marks);

}  // namespace strobe
