// Staleness: a policy between an exchange and its values (DGC, SIGMOD'23, section 5.2). A row of a halo is sent again
// only when it has moved far enough from the last sent copy. Its readers keep using that copy. This file has the
// policy's options and their text, and those that say which rows a halo has and how many servers carry it; strategies
// with halos offer them.
#pragma once

#include <string>
#include <vector>

#include "core/fields.hpp"

namespace strobe {

/// Ways to avoid sending all halo rows in every epoch.
struct Staleness {
  enum class Kind { none, static_share, adaptive };
  Kind kind = Kind::none;
  double theta = 0;               // threshold of static_share, as a share of the largest distance D_r, in [0, 1]
  bool printed_sign = false;      // for adaptive: Eq. 6 as printed, not as its text says (decisions G1)
  bool gradient_always = false;   // readers return the gradient of every row in every epoch (decisions G11)
  bool distances_on_host = true;  // the paper's form; else an operation of the device
  double sent_share = 1;          // share of rows assumed sent after the first epoch, when there are no values

  /// Whether rows may stay unsent. A threshold of zero is the exact exchange.
  bool reuses() const { return kind == Kind::adaptive || (kind == Kind::static_share && theta > 0); }
};

/// The same options as parameters of a strategy, whose own parameters derive from this struct.
struct StaleOptions {
  std::string stale = "none";
  double stale_theta = 0.3;
  std::string stale_sign = "text";
  std::string stale_gradient = "fresh";
  std::string distances = "host";
  double sent_share = 0.2;
  std::string halo = "outputs";
  std::int64_t servers = 0;  // ranks that also hold what ranks read of others; 0: peers send to each other
};

/// Values of `halo` that a search tries, where the model allows both.
std::vector<std::string> searched_halos(bool sizes_only);

/// Adds the options to a strategy's own, whose parameters `S` derive from StaleOptions.
template <class S>
FieldTable with_stale_fields(FieldTableBuilder<S> fields) {
  return fields
      .choice("stale", &S::stale, {"none", "static", "adaptive"},
              "rows of halos that moved little are not sent again: the threshold is a share of the largest distance, "
              "or follows the loss")
      .real("stale_theta", &S::stale_theta, "", "stale=static: threshold as a share of the largest distance", 0, 1)
      .choice("stale_sign", &S::stale_sign, {"text", "printed"},
              "stale=adaptive: the threshold's share of the largest distance grows as the loss falls, as DGC's text "
              "says, or shrinks, as its Eq. 6 is printed")
      .choice("stale_gradient", &S::stale_gradient, {"fresh", "always"},
              "stale: readers return the gradients of the rows that were sent in the epoch, or of all rows")
      .choice("distances", &S::distances, {"host", "device"}, "stale: who computes how far rows have moved")
      .real("sent_share", &S::sent_share, "",
            "stale: share of the rows that is taken to be sent after the first epoch where no values are computed; "
            "0.2 is what DGC's Table 3 leaves on average",
            0, 1)
      .choice(
          "halo", &S::halo, {"outputs", "inputs"},
          "rows of the first layer that ranks send: its outputs, or the constants that it reads, from which readers "
          "compute the outputs again")
      .searched(searched_halos)
      .template integer<std::int64_t>(
          "servers", &S::servers, "",
          "ranks that also serve: owners push rows of halos, states and gradients to them, and readers pull them; "
          "0 = peers send to each other",
          0, 1 << 20);
}

/// Whether a strategy offers them.
bool has_stale_fields(const FieldTable& fields);

/// The policy that the options request.
Staleness staleness_of(const StaleOptions& options);

/// "adaptive, stale_sign=text, stale_gradient=fresh".
std::string text_of(const Staleness& staleness);

/// A strategy's parameters with only the options that have an effect. With stale=none there are none, so that cases
/// keep the ids from before staleness existed. The same holds for servers=0 and halo=outputs.
Json without_idle_stale_options(Json parameters);

/// Removes "stale" and "servers" from the parameters `values` of strategy `name` if `fields` lack them. If they are not
/// none and 0 (and "halo" outputs), throws InvalidRequest(pointer + "/stale", ...) that names `others`, the strategies
/// that have them.
Json without_foreign_stale(const FieldTable& fields, const std::string& name, const std::vector<std::string>& others,
                           const Json& values, const std::string& pointer);

}  // namespace strobe
