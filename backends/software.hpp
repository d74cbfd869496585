// Software: costs that a framework adds to the program whose time is predicted. Strobe's own program issues one
// operation for all steps of a block. The programs in papers issue several operations for each snapshot, multiply by
// matrices in COO and send messages one by one. A profile is read from backends/software/NAME.json, where every number
// names its source and date, or says why it is not known. Profiles are applied to the operations and collectives of a
// cluster (backends/sim).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace strobe {

struct Cluster;

/// The name of Strobe's own program, which needs no profile.
inline constexpr const char* own_software = "strobe";

inline constexpr const char* software_help =
    "device sim only: whose program is predicted: strobe, a profile from `strobe list software` such as pytorch-eager, "
    "or a JSON file; pytorch-eager:without=coo+messages leaves terms out";

/// The kinds of cost that a profile adds. Each can be left out.
enum class SoftwareTerm : std::uint8_t {
  issue,
  snapshots,
  coo,
  recurrences,
  sampling,
  messages,
  collectives,
  serialisation,
  memory
};
inline constexpr int software_term_count = 9;
inline constexpr std::string_view software_term_names[software_term_count] = {
    "issue", "snapshots", "coo", "recurrences", "sampling", "messages", "collectives", "serialisation", "memory"};

/// A cost per item: seconds of the host or of a measured device, and bytes that a device's memory moves. Empty when not
/// known.
struct ItemCost {
  std::optional<double> seconds, bytes;
  bool known() const { return seconds || bytes; }
};

/// One framework on one kind of device. Unknown costs add nothing, and are listed in `missing`.
struct Software {
  std::string name, framework;
  std::map<std::string, double, std::less<>> calls;          // framework operations per snapshot for each operation of
                                                             // Strobe
  double other_calls = 1;                                    // for an operation that is not listed
  std::optional<double> issue_seconds;                       // host time for one operation
  ItemCost coo, coo_backward;                                // added to a sparse product, per entry
  std::map<std::string, ItemCost, std::less<>> recurrences;  // per byte that the operation must move
  std::optional<double> row_seconds;                         // host time per row that its work reaches through an index
  std::optional<double> message_seconds;                     // host time per message to one peer
  // host time of a collective between two ranks, per call and per byte; more ranks take it once for each peer
  std::optional<double> exchange_seconds, exchange_byte_seconds, sum_seconds, sum_byte_seconds;
  std::optional<double> serialise_message_seconds, serialise_byte_seconds;  // at either end
  // device memory, in addition to the driver's
  std::uint64_t context_bytes = 0;
  double saved_factor = 1;                       // ratio of kept tensors to those that Strobe keeps
  std::array<bool, software_term_count> uses{};  // the terms that count
  std::vector<std::string> missing;              // keys of terms that count but whose numbers are not known

  bool use(SoftwareTerm term) const { return uses[static_cast<std::size_t>(term)]; }
  double calls_of(std::string_view operation) const {
    const auto found = calls.find(operation);
    return found == calls.end() ? other_calls : found->second;
  }
};

/// The profile for "NAME", "NAME:without=TERM+TERM" or "NAME:only=TERM+TERM"; NAME is built in or the path of a file.
/// `processor`: the device's memory is the host's, not its own. Null for Strobe's own program. Throws InvalidRequest
/// with the JSON pointer of the error.
std::shared_ptr<const Software> load_software(const std::string& software, bool processor = false);

/// Names of the built-in profiles, Strobe's own first.
std::vector<std::string> software_names();

/// The text of `strobe list software` for a name.
std::string software_description(const std::string& name);

/// The cluster with the software's costs added.
std::shared_ptr<const Cluster> load_cluster(const std::string& cluster, const std::string& software);

/// The text that rows show for a prediction with this software: its name, the terms left out, and the unknown ones.
std::string software_note(const Software& software);

}  // namespace strobe
