// Currencies by their ISO 4217 codes. Strobe never compares amounts of two currencies, because it has no exchange
// rates.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace strobe {

/// The currency codes that a price may have, ascending: ISO 4217 without funds, metals and test codes. Codes that were
/// in force at some time since 2023 are included, because a price has a date.
const std::vector<std::string>& currency_codes();

/// "USD" for "usd", "Usd" or "USD"; "" when `text` is not in `currency_codes`.
std::string currency_code(const std::string& text);

/// An amount with the letters that follow it: {500, "usd"} for "500usd", "500 usd" or "5e2usd"; {500, ""} for "500".
/// Nothing unless the text begins with a finite amount above 0.
std::optional<std::pair<double, std::string>> amount_from_text(const std::string& text);

/// "'usdd' is not an ISO 4217 currency code; write one such as USD"
std::string unknown_currency_message(const std::string& text);

}  // namespace strobe
