#include "harness/placement/cut_states.hpp"

#include <nlohmann/json.hpp>

namespace strobe {

CutStates cut_states_of(const CutOptions& options) {
  if (options.states == "zero") return CutStates::zero;
  return options.states == "previous_epoch" ? CutStates::previous_epoch : CutStates::exact;
}

std::string text_of(CutStates states) {
  switch (states) {
    case CutStates::exact:
      return "states=exact";
    case CutStates::previous_epoch:
      return "states=previous_epoch";
    case CutStates::zero:
      return "states=zero";
  }
  return "";
}

Json without_idle_cut_options(Json parameters) {
  if (parameters.value("states", "") == "exact") parameters.erase("states");
  if (parameters.value("deal", "") == "contiguous") parameters.erase("deal");
  return parameters;
}

}  // namespace strobe
