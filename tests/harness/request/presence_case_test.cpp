// The key `presence` of a case: its values, the settings that it does not change, and those that contradict it.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "harness/request/case.hpp"
#include "workloads/graph/presence.hpp"

namespace strobe {
namespace {

Json chess() { return {{"workload", {{"name", "chess"}}}, {"model", "tm-gcn"}}; }

Json with_presence(Json json, const std::string& kind) {
  json["presence"] = kind;
  return json;
}

TEST(PresenceOfACase, AllIsTheCaseThatThereWasBefore) {
  const Case plain = case_from_json(chess(), ""), all = case_from_json(with_presence(chess(), "all"), "");
  EXPECT_EQ(plain.presence, "all");
  EXPECT_FALSE(case_to_json(plain).contains("presence"));
  EXPECT_EQ(case_to_json(plain), case_to_json(all));
  EXPECT_EQ(case_id(plain), case_id(all));
}

TEST(PresenceOfACase, OthersAreCasesOfTheirOwn) {
  std::vector<std::string> ids;
  for (const std::string& kind : presence_kinds()) {
    const Case c = case_from_json(with_presence(chess(), kind), "");
    EXPECT_EQ(case_to_json(c).value("presence", "all"), kind);
    EXPECT_EQ(case_to_json(case_from_json(case_to_json(c), "")), case_to_json(c));
    ids.push_back(case_id(c));
  }
  std::sort(ids.begin(), ids.end());
  EXPECT_EQ(std::unique(ids.begin(), ids.end()), ids.end());
}

std::string presence_refusal(const Json& json) {
  try {
    case_from_json(json, "/cases/3");
  } catch (const InvalidRequest& error) {
    EXPECT_EQ(error.where(), "/cases/3/presence");
    return error.message();
  }
  ADD_FAILURE() << json << " was accepted";
  return "";
}

TEST(PresenceOfACase, WhatItDoesNotGoWithIsNamed) {
  EXPECT_NE(presence_refusal(with_presence(chess(), "activ")).find("did you mean 'active'?"), std::string::npos);
  Json shape = with_presence(chess(), "seen");
  shape["workload"] = "epinions";
  shape["device"] = "sim";
  shape["strategy"] = "snapshot";
  EXPECT_NE(presence_refusal(shape).find("use presence=all, or a graph"), std::string::npos);
  Json events = with_presence(chess(), "seen");
  events["model"] = "tgn-attn";
  events["task"] = "future-links";
  EXPECT_NE(presence_refusal(events).find("leave it out"), std::string::npos);
  Json batches = with_presence(chess(), "seen");
  batches["strategy"] = "dynahb";
  EXPECT_EQ(case_to_json(case_from_json(batches, "")).at("presence"), "seen");
  events.erase("presence");
  EXPECT_FALSE(case_to_json(case_from_json(events, "")).contains("presence"));
}

}  // namespace
}  // namespace strobe
