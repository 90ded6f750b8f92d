#include "broker/configs/config_value.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "broker/configs/broker_configs.h"
#include "broker/configs/golden_testing.h"
#include "broker/configs/group_configs.h"
#include "broker/configs/topic_config_keys.h"

namespace cordwood::broker::configs {
namespace {

const KeyDefinition* find_key(const std::string& table, std::string_view name) {
  if (table == "broker") return find_broker_key(name);
  if (table == "topic") return find_topic_key(name);
  if (table == "group") {
    for (const GroupKey& key : group_keys()) {
      if (key.name == name) return &key;
    }
  }
  for (const KeyDefinition& key : client_metrics_keys()) {
    if (table == "client_metrics" && key.name == name) return &key;
  }
  return nullptr;
}

std::string undo_escapes(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out.push_back(text[i]);
    } else {
      ++i;
      out.push_back(text[i] == 'n' ? '\n' : text[i] == 't' ? '\t' : text[i]);
    }
  }
  return out;
}

std::string rule_in_kafkas_words(const KeyDefinition& key) {
  const ValueRule& rule = key.rule;
  switch (rule.rule) {
    case Rule::anything: return "-";
    case Rule::at_least: return fmt::format("[{},...]", rule.low);
    case Rule::between: return fmt::format("[{},...,{}]", rule.low, rule.high);
    case Rule::between_or: return fmt::format("[{},...,{}] or {}", rule.low, rule.high, rule.other);
    case Rule::one_of: return fmt::format("[{}]", rule.choices);
    case Rule::one_of_any_case: return fmt::format("(case insensitive) [{}]", rule.choices);
    case Rule::non_empty_text: return "non-empty string";
    case Rule::list:
      return "list of " + (rule.choices.empty() ? "anything" : fmt::format("[{}]", rule.choices)) +
             (rule.may_be_empty ? " or empty" : "");
    case Rule::throttled_replicas: return "[partitionId]:[brokerId],[partitionId]:[brokerId],...";
    case Rule::voters:
    case Rule::host_ports: return "non-empty list";
    case Rule::offset_reset: return "[latest, earliest, by_duration:PnDTnHnMn.nS]";
  }
  return "";
}

TEST(ConfigTables, AreKafkas) {
  std::map<std::string, std::size_t> sizes;
  for (const auto& row : golden_rows("tables.tsv", 7)) {
    SCOPED_TRACE(row[0] + " " + row[1]);
    ++sizes[row[0]];
    const KeyDefinition* key = find_key(row[0], row[1]);
    ASSERT_NE(key, nullptr);
    EXPECT_EQ(name_of(key->type), row[2]);
    EXPECT_EQ(key->default_value == nullptr ? "\\N" : key->default_value, row[3]);
    EXPECT_EQ(rule_in_kafkas_words(*key), row[4] == "non-null string" ? "-" : row[4]);
    bool shown = true;
    if (row[0] == "broker") {
      const BrokerKey& broker_key = *find_broker_key(row[1]);
      const char* scope = broker_key.scope == Scope::read_only     ? "read-only"
                          : broker_key.scope == Scope::per_broker ? "per-broker"
                                                                  : "cluster-wide";
      EXPECT_EQ(scope, row[5]);
      shown = broker_key.visibility == Visibility::shown;
    } else if (row[0] == "topic" || row[0] == "group") {
      const char* synonym = row[0] == "topic" ? static_cast<const TopicKey*>(key)->broker_key
                                              : static_cast<const GroupKey*>(key)->broker_key;
      shown = row[0] == "topic" ? static_cast<const TopicKey*>(key)->shown : static_cast<const GroupKey*>(key)->shown;
      EXPECT_EQ(synonym == nullptr ? "-" : synonym, row[5]);
      EXPECT_TRUE(synonym == nullptr || find_broker_key(synonym) != nullptr);
    }
    EXPECT_EQ(shown ? "shown" : "hidden", row[6]);
  }
  const auto own_keys = std::ranges::count_if(broker_keys(), [](const BrokerKey& key) { return key.name.starts_with("cordwood."); });
  EXPECT_EQ(sizes["broker"] + static_cast<std::size_t>(own_keys), broker_keys().size());
  EXPECT_EQ(sizes["topic"], topic_keys().size());
  EXPECT_EQ(sizes["group"], group_keys().size());
  EXPECT_EQ(sizes["client_metrics"], client_metrics_keys().size());
}

TEST(ConfigValue, IsReadAndRefusedInKafkasWords) {
  std::size_t cases = 0;
  for (const auto& row : golden_rows("texts.tsv", 4)) {
    const KeyDefinition* key = find_key(row[0], row[1]);
    ASSERT_NE(key, nullptr) << row[1];
    auto value = read_config_value(*key, undo_escapes(row[2]));
    std::string answer = !value                                ? "!" + value.error().what
                         : key->type == ConfigType::password ? "=[hidden]"
                                                               : "=" + value->text;
    EXPECT_EQ(answer, undo_escapes(row[3])) << row[1] << " given '" << row[2] << "'";
    ++cases;
  }
  EXPECT_GT(cases, 4000u);
}

TEST(ConfigValue, DefaultsObeyTheirRules) {
  for (const BrokerKey& key : broker_keys()) {
    if (key.default_value == nullptr) continue;
    auto value = read_config_value(key, key.default_value);
    ASSERT_TRUE(value.has_value()) << key.name;
    EXPECT_EQ(value->text, key.default_value);
  }
}

TEST(ConfigValue, RefusesWhatOnlyAnotherParserWouldTake) {
  KeyDefinition real{"r", ConfigType::float64, nullptr, rules::anything()};
  for (const char* text : {"", "0x1p3", "1e", "--1", "inf", "nan", ".", "1.5dd", "1,5", "+"}) {
    EXPECT_FALSE(read_config_value(real, text).has_value()) << text;
  }
  KeyDefinition whole{"w", ConfigType::int64, nullptr, rules::anything()};
  for (const char* text : {"+", "-", "+-1", "1 2", "1L", "\xD9\xA1"}) {
    EXPECT_FALSE(read_config_value(whole, text).has_value()) << text;
  }
}

TEST(ConfigValue, ShowsDoublesAsJavaDoes) {
  KeyDefinition key{"r", ConfigType::float64, nullptr, rules::anything()};
  const std::pair<const char*, const char*> cases[] = {
      {"0", "0.0"},         {"-0.5", "-0.5"},        {"1e-3", "0.001"},  {"0.00099", "9.9E-4"}, {"9999999", "9999999.0"},
      {"1e7", "1.0E7"},     {"1e400", "Infinity"},   {"1e-400", "0.0"},  {"123e-2f", "1.23"},   {"1.", "1.0"},
      {"-1e21", "-1.0E21"}, {"-Infinity", "-Infinity"},
  };
  for (auto [given, shown] : cases) {
    auto value = read_config_value(key, given);
    ASSERT_TRUE(value.has_value()) << given;
    EXPECT_EQ(value->text, shown);
  }
}

TEST(SplitList, DropsBlanksAroundCommas) {
  EXPECT_EQ(split_list("  "), std::vector<std::string>{});
  EXPECT_EQ(split_list(" a ,\tb,, c "), (std::vector<std::string>{"a", "b", "", "c"}));
}

TEST(InHashOrder, GrowsWithTheNumberOfNames) {
  EXPECT_EQ(in_hash_order({"zz", "aa", "mm"}), (std::vector<std::string>{"zz", "aa", "mm"}));  // one slot for all three
  EXPECT_EQ(in_hash_order({"log.dirs", "num.partitions", "node.id"}),
            (std::vector<std::string>{"node.id", "num.partitions", "log.dirs"}));
}

}  // namespace
}  // namespace cordwood::broker::configs
