// Values that --tune tries for the settings that most models and optimizers have (FieldTableBuilder::searched). A text
// LOW..HIGH is a range: values in it are drawn uniformly by their logarithm.
#pragma once

#include <string>
#include <vector>

namespace strobe {

inline std::vector<std::string> searched_widths(bool /*sizes_only*/) { return {"16", "32", "64", "128"}; }
inline std::vector<std::string> searched_dropouts(bool /*sizes_only*/) { return {"0", "0.1", "0.3", "0.5"}; }
/// Learning rates of optimizers that scale each step by its gradients, such as Adam.
inline std::vector<std::string> searched_adaptive_rates(bool /*sizes_only*/) { return {"0.0001..0.1"}; }
inline std::vector<std::string> searched_plain_rates(bool /*sizes_only*/) { return {"0.001..1"}; }
inline std::vector<std::string> searched_momentums(bool /*sizes_only*/) { return {"0", "0.9"}; }

}  // namespace strobe
