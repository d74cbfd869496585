// Text that lives as long as the process, for names that are static text where they are written and come from elsewhere
// here: from a file, or from a rank in another process.
#pragma once

#include <string>
#include <string_view>

namespace strobe {

/// The one copy of `text`, which is never given back; for few texts, as names are. Any thread may call it.
std::string_view kept_text(std::string_view text);

}  // namespace strobe
