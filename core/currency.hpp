// Currencies, by their codes in ISO 4217. Amounts of two currencies are never compared: there is no rate here.
#pragma once

#include <string>
#include <vector>

namespace strobe {

/// The codes of money that prices are listed in, ascending: ISO 4217 without funds, metals and test codes, and with
/// those that were in force at some time since 2023, because a price has a date.
const std::vector<std::string>& currency_codes();

/// "USD" of "usd", "Usd" or "USD"; "" when `text` is no code of `currency_codes`.
std::string currency_code(const std::string& text);

/// "'usdd' is no currency code of ISO 4217, such as USD"
std::string unknown_currency_message(const std::string& text);

}  // namespace strobe
