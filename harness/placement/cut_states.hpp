// The state from which training goes on where a timeline is cut: its next piece lies on another rank. This file has the
// option and its text; strategies that cut timelines offer it. Evaluations are always exact.
#pragma once

#include <string>

#include "core/fields.hpp"

namespace strobe {

/// The state from which a piece of a timeline starts, if the piece before it is on another rank.
enum class CutStates {
  exact,           // the state that the piece before it leaves in this epoch; so it waits for that piece
  previous_epoch,  // the state that the piece before it left in the previous epoch, as a constant; zero in the first
  zero,            // nothing
};

/// The option as a parameter of a strategy, whose own parameters derive from this struct.
struct CutOptions {
  std::string states = "exact";
};

/// Adds the option to a strategy's own, whose parameters `S` derive from CutOptions.
template <class S>
FieldTableBuilder<S> with_states_field(FieldTableBuilder<S> fields) {
  return fields.choice(
      "states", &S::states, {"exact", "previous_epoch", "zero"},
      "state of a recurrence from which training goes on where a timeline passes to another rank: the exact one, for "
      "which ranks wait; the one that was left there in the previous epoch; or zero, so that nothing is sent");
}

CutStates cut_states_of(const CutOptions& options);

/// "states=previous_epoch"
std::string text_of(CutStates states);

/// A strategy's parameters without newer ones at their defaults (states=exact, deal=contiguous), so that cases keep
/// the ids from before these existed.
Json without_idle_cut_options(Json parameters);

}  // namespace strobe
