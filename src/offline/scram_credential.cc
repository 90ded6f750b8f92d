#include "offline/scram_credential.h"

#include <fmt/format.h>

#include <map>
#include <optional>

#include "base/sha2.h"
#include "offline/dump/java_text.h"
#include "offline/rendering.h"

namespace cordwood::offline {
namespace {

using broker::metadata::UserScramCredentialRecord;

constexpr std::int64_t kFewestIterations = 4096;
constexpr std::int64_t kMostIterations = 16384;
constexpr std::size_t kSaltDigits = 25;

struct Mechanism {
  std::string_view name;
  std::string_view shown;
  std::int8_t number;  // of RFC 5802
  Sha2 hash;
};
constexpr Mechanism kMechanisms[] = {{"SCRAM-SHA-256", "SCRAM_SHA_256", 1, Sha2::sha256},
                                     {"SCRAM-SHA-512", "SCRAM_SHA_512", 2, Sha2::sha512}};

Error wrong_scram(std::string sentence) {
  return Error{Errc::invalid, std::move(sentence)};
}

// "[name=alice,password="secret"]"
Result<std::map<std::string, std::string>> parse_components(std::string_view text) {
  if (!text.starts_with('[')) return wrong_scram("Expected configuration string to start with [");
  if (text.size() < 2 || !text.ends_with(']')) return wrong_scram("Expected configuration string to end with ]");
  text = text.substr(1, text.size() - 2);
  std::map<std::string, std::string> components;
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string_view component = text.substr(0, comma);
    const std::size_t equals = component.find('=');
    if (equals == std::string_view::npos)
      return wrong_scram(fmt::format("No equals sign found in SCRAM component: {}", component));
    std::string_view value = component.substr(equals + 1);
    if (value.size() >= 2 && value.starts_with('"') && value.ends_with('"')) value = value.substr(1, value.size() - 2);
    components[std::string(component.substr(0, equals))] = value;
    if (comma == std::string_view::npos) return components;
    text.remove_prefix(comma + 1);
  }
}

// Nothing when there is no such component, which is gone afterwards.
std::optional<std::string> taken(std::map<std::string, std::string>& components, const std::string& key) {
  auto node = components.extract(key);
  if (node.empty()) return std::nullopt;
  return node.mapped();
}

// As java.util.Base64's decoder, which wants no padding, but none that is wrong.
std::optional<ByteVector> decoded(const std::string& text) {
  const std::string_view digits = std::string_view(text).substr(0, text.find('='));
  const std::size_t padding = text.size() - digits.size();
  if (digits.size() % 4 == 1 || (padding > 0 && text.size() % 4 != 0) || padding > 2 ||
      text.find_first_of("-_") != std::string::npos)
    return std::nullopt;
  auto bytes = parse_base64(text);
  if (!bytes) return std::nullopt;
  return *bytes;
}

ByteVector random_salt(Random& random) {
  ByteVector salt;
  for (std::size_t i = 0; i < kSaltDigits; ++i)
    salt.push_back(static_cast<std::byte>("0123456789abcdefghijklmnopqrstuvwxyz"[random.below(36)]));
  return salt;
}

// Java's Arrays.toString of signed bytes.
std::string shown_bytes(BytesView bytes) {
  std::string text = "[";
  for (const std::byte b : bytes)
    text += fmt::format("{}{}", text.size() > 1 ? ", " : "", static_cast<int>(static_cast<std::int8_t>(b)));
  return text + "]";
}

}  // namespace

Result<UserScramCredentialRecord> parse_scram_credential(std::string_view text, Random& random) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos)
    return wrong_scram(fmt::format("Failed to find equals sign in SCRAM argument '{}'", text));
  const Mechanism* mechanism = nullptr;
  for (const Mechanism& known : kMechanisms) {
    if (known.name == text.substr(0, equals)) mechanism = &known;
  }
  if (mechanism == nullptr)
    return wrong_scram(fmt::format("The add-scram mechanism {} is not supported.", text.substr(0, equals)));
  auto components = TRY(parse_components(text.substr(equals + 1)));

  UserScramCredentialRecord record;
  record.mechanism = mechanism->number;
  const auto name = taken(components, "name");
  if (!name) return wrong_scram("You must supply 'name' to add-scram");
  record.name = *name;
  const auto salt = taken(components, "salt");
  if (salt) {
    auto bytes = decoded(*salt);
    if (!bytes) return wrong_scram(fmt::format("Failed to decode given salt: {}", *salt));
    record.salt = std::move(*bytes);
  } else {
    record.salt = random_salt(random);
  }
  std::int64_t iterations = kFewestIterations;
  if (const auto given = taken(components, "iterations")) {
    const auto number = parse_java_long(*given);
    if (!number || *number < INT32_MIN || *number > INT32_MAX)
      return wrong_scram(fmt::format("Failed to parse iterations count: {}", *given));
    iterations = *number;
  }
  const auto password = taken(components, "password");
  const auto given_salted = taken(components, "saltedpassword");
  ByteVector salted;
  if (!password && !given_salted)
    return wrong_scram("You must supply one of 'password' or 'saltedpassword' to add-scram");
  if (!password) {
    if (!salt) return wrong_scram("You must supply 'salt' with 'saltedpassword' to add-scram");
    auto bytes = decoded(*given_salted);
    if (!bytes) return wrong_scram(fmt::format("Failed to decode given saltedPassword: {}", *given_salted));
    salted = std::move(*bytes);
  }
  if (!components.empty()) {
    std::string names;
    for (const auto& [key, value] : components) names += fmt::format("{}{}", names.empty() ? "" : ", ", key);
    return wrong_scram(fmt::format("Unknown SCRAM configurations: {}", names));
  }
  if (iterations < kFewestIterations)
    return wrong_scram(fmt::format("The 'iterations' value must be >= {} for add-scram using {}", kFewestIterations,
                                   mechanism->shown));
  if (iterations > kMostIterations)
    return wrong_scram(
        fmt::format("The 'iterations' value must be <= {} for add-scram using {}", kMostIterations, mechanism->shown));
  record.iterations = static_cast<std::int32_t>(iterations);

  if (password ? password->empty() : salted.empty())
    return Error{Errc::corrupt, "java.lang.IllegalArgumentException: Empty key"};
  if (password) salted = pbkdf2(mechanism->hash, as_bytes(*password), record.salt, record.iterations);
  record.stored_key = sha2(mechanism->hash, hmac(mechanism->hash, salted, as_bytes("Client Key")));
  record.server_key = hmac(mechanism->hash, salted, as_bytes("Server Key"));
  return record;
}

std::string shown_scram_credential(const UserScramCredentialRecord& record) {
  return fmt::format(
      "UserScramCredentialRecord(name='{}', mechanism={}, salt={}, storedKey={}, serverKey={}, iterations={})",
      record.name, record.mechanism, shown_bytes(record.salt), shown_bytes(record.stored_key),
      shown_bytes(record.server_key), record.iterations);
}

}  // namespace cordwood::offline
