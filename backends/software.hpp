// Software: what a framework adds to the program whose time is predicted. Strobe's own program issues one operation for
// all steps of a block; programs whose times papers print issue several for each snapshot, multiply by matrices in COO
// and send messages one by one. A profile is read from backends/software/NAME.json, where every number names its source
// and date, or says why it is not known; it is laid over the operations and collectives of a cluster (backends/sim).
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
    "device sim only: whose program is predicted: strobe, a profile from `strobe list software` as pytorch-eager, or a "
    "JSON file; with terms left out as pytorch-eager:without=coo+messages";

/// The kinds of cost that a profile adds, each of which can be left out.
enum class SoftwareTerm : std::uint8_t {
  issue,
  snapshots,
  coo,
  recurrences,
  sampling,
  messages,
  serialisation,
  memory
};
inline constexpr int software_term_count = 8;
inline constexpr std::string_view software_term_names[software_term_count] = {
    "issue", "snapshots", "coo", "recurrences", "sampling", "messages", "serialisation", "memory"};

/// A cost per item: seconds of the host or of a measured device, and bytes that a device's memory moves. Nothing where
/// nobody knows.
struct ItemCost {
  std::optional<double> seconds, bytes;
  bool known() const { return seconds || bytes; }
};

/// One framework on one kind of device. What is not known adds nothing, and is listed under `missing`.
struct Software {
  std::string name, framework;
  std::map<std::string, double, std::less<>> calls;          // framework's operations per snapshot for one of Strobe's
  double other_calls = 1;                                    // for one that is not listed
  std::optional<double> issue_seconds;                       // of the host for one operation
  ItemCost coo, coo_backward;                                // beside a sparse product, per entry
  std::map<std::string, ItemCost, std::less<>> recurrences;  // per byte that the operation must move
  std::optional<double> row_seconds;      // of the host per row that its work reaches through an index
  std::optional<double> message_seconds;  // of the host per message to one peer
  std::optional<double> serialise_message_seconds, serialise_byte_seconds;  // at either end
  std::uint64_t context_bytes = 0;                                          // of device memory, beside the driver's
  double saved_factor = 1;                       // tensors that are kept, over those that Strobe keeps
  std::array<bool, software_term_count> uses{};  // the terms that count
  std::vector<std::string> missing;              // keys of terms that count whose numbers nobody knows

  bool use(SoftwareTerm term) const { return uses[static_cast<std::size_t>(term)]; }
  double calls_of(std::string_view operation) const {
    const auto found = calls.find(operation);
    return found == calls.end() ? other_calls : found->second;
  }
};

/// The profile of "NAME", "NAME:without=TERM+TERM" or "NAME:only=TERM+TERM", NAME a built-in one or the path of a file,
/// for a device whose memory is the host's (`processor`) or its own; null for Strobe's own program. Throws
/// InvalidRequest with the JSON pointer of what is wrong.
std::shared_ptr<const Software> load_software(const std::string& software, bool processor = false);

/// Names of the built-in profiles, Strobe's own first.
std::vector<std::string> software_names();

/// What `strobe list software` says of a name.
std::string software_description(const std::string& name);

/// The cluster with the software laid over it.
std::shared_ptr<const Cluster> load_cluster(const std::string& cluster, const std::string& software);

/// What rows say of a prediction with this software: its name, which terms it is without, and what nobody knows.
std::string software_note(const Software& software);

}  // namespace strobe
