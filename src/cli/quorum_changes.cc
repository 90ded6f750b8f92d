#include "cli/quorum_changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "cli/kafka_tool.h"
#include "client/call.h"
#include "protocol/messages/add_raft_voter.h"
#include "protocol/messages/remove_raft_voter.h"
#include "protocol/messages/unregister_broker.h"

namespace cordwood::cli {
namespace {

using Done = std::monostate;

constexpr std::string_view kIsItValid = "Is this a valid controller configuration file?";

std::unexpected<JavaError> refuse_change(std::string message) { return std::unexpected(terse_exception(std::move(message))); }

std::vector<std::string> listed_items(std::string_view text) {
  std::vector<std::string> items;
  for (const std::string& item : split_as_java(text, ',')) {
    if (auto trimmed = java_trimmed(item); !trimmed.empty()) items.emplace_back(trimmed);
  }
  return items;
}

// "NAME://host:port" each; a listener on all addresses is reached as this machine.
std::map<std::string, ControllerEndpoint> endpoints_of(std::string_view text) {
  std::map<std::string, ControllerEndpoint> endpoints;
  for (const std::string& item : listed_items(text)) {
    auto name_end = item.find("://");
    auto port_at = item.rfind(':');
    if (name_end == std::string::npos || port_at <= name_end + 2) continue;
    ControllerEndpoint endpoint{item.substr(0, name_end), item.substr(name_end + 3, port_at - name_end - 3), 0};
    if (endpoint.host.empty()) endpoint.host = "localhost";
    auto [end, error] = std::from_chars(item.data() + port_at + 1, item.data() + item.size(), endpoint.port);
    if (error == std::errc() && end == item.data() + item.size()) endpoints[endpoint.name] = endpoint;
  }
  return endpoints;
}

// The id that the formatted directory has.
Tried<Uuid> directory_id_of(const std::string& directory, Session& session) {
  auto meta = read_properties_file(session, directory + "/meta.properties");
  if (!meta) return refuse_change(fmt::format("Unable to read meta.properties from {}", directory));
  std::string text = property(*meta, "directory.id");
  if (text.empty()) return refuse_change(fmt::format("No directory id found in {}", directory));
  return parse_directory_id(text);
}

// The error that an answer carries, as the client's future has it.
template <class Response>
Tried<Done> checked(const client::Outcome<client::Answer<Response>>& answer) {
  if (!answer) return std::unexpected(execution_exception(answer.failure()));
  if ((*answer)->error_code == protocol::ErrorCode::NONE) return Done{};
  return std::unexpected(execution_exception(client::failure_of((*answer)->error_code, (*answer)->error_message)));
}

}  // namespace

Tried<Uuid> parse_directory_id(std::string_view text) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  if (auto id = Uuid::parse(text)) return *id;
  constexpr std::size_t kLongest = 24;
  auto wrong = [](std::string message) { return std::unexpected(illegal_argument(std::move(message))); };
  if (text.size() > kLongest) {
    return wrong(fmt::format("Input string with prefix `{}` is too long to be decoded as a base64 UUID", text.substr(0, kLongest)));
  }
  std::string_view letters = text;
  while (!letters.empty() && letters.back() == '=' && text.size() % 4 == 0 && text.size() - letters.size() < 2) letters.remove_suffix(1);
  if (letters.size() == 1) return wrong("Input byte[] should at least have 2 bytes for base64 bytes");
  for (char letter : letters) {
    if (kLetters.find(letter) == std::string_view::npos) {
      return wrong(fmt::format("Illegal base64 character {:x}", static_cast<unsigned char>(letter)));
    }
  }
  if (letters.size() % 4 == 1) return wrong("Last unit does not have enough valid bits");
  return wrong(fmt::format("Input string `{}` decoded as {} bytes, which is not equal to the expected 16 bytes of a base64-encoded UUID",
                           text, letters.size() * 6 / 8));
}

Tried<NewController> new_controller(const Properties& properties, Session& session) {
  NewController controller;
  std::string id = property(properties, "node.id");
  if (id.empty()) return refuse_change(fmt::format("node.id not found in configuration file. {}", kIsItValid));
  auto number = parse_java_int(id);
  if (!number) return std::unexpected(number_format(id));
  if (*number < 0) return refuse_change(fmt::format("node.id was negative in configuration file. {}", kIsItValid));
  controller.id = *number;
  auto roles = listed_items(property(properties, "process.roles"));
  if (std::ranges::find(roles, "controller") == roles.end()) {
    return refuse_change(fmt::format("process.roles did not contain 'controller' in configuration file. {}", kIsItValid));
  }
  std::string directory = property(properties, "metadata.log.dir");
  auto directories = listed_items(property(properties, "log.dirs"));
  if (directory.empty() && !directories.empty()) directory = directories.front();
  if (directory.empty()) return refuse_change(fmt::format("Neither metadata.log.dir nor log.dirs were found. {}", kIsItValid));
  controller.directory_id = NEED(directory_id_of(directory, session));
  auto endpoints = endpoints_of(property(properties, "listeners"));
  for (auto& [name, endpoint] : endpoints_of(property(properties, "advertised.listeners"))) endpoints[name] = endpoint;
  for (const std::string& name : listed_items(property(properties, "controller.listener.names"))) {
    auto found = endpoints.find(name);
    if (found == endpoints.end()) return refuse_change(fmt::format("Cannot find information about controller listener name: {}", name));
    controller.endpoints.push_back(found->second);
  }
  if (controller.endpoints.empty()) return refuse_change(fmt::format("controller.listener.names was not found. {}", kIsItValid));
  return controller;
}

Tried<Done> add_controller(const Options& options, const std::string& config, client::Cluster& cluster, Session& session) {
  if (config.empty()) {
    return refuse_change("You must supply the configuration file of the controller you are adding when using add-controller.");
  }
  auto properties = read_properties_file(session, config);
  if (!properties) return refuse_change(fmt::format("Properties file {} does not exist.", config));
  auto controller = NEED(new_controller(*properties, session));
  bool dry = options.has("dry-run");
  if (!dry) {
    protocol::AddRaftVoterRequest request;
    request.timeout_ms = static_cast<std::int32_t>(cluster.options().request_timeout.value);
    request.voter_id = controller.id;
    request.voter_directory_id = controller.directory_id;
    for (const auto& endpoint : controller.endpoints) request.listeners.push_back({endpoint.name, endpoint.host, endpoint.port});
    NEED(checked(client::ask_any<protocol::AddRaftVoterResponse>(cluster, "addRaftVoter", request)));
  }
  std::vector<std::string> texts;
  for (const auto& endpoint : controller.endpoints) texts.push_back(fmt::format("{}://{}:{}", endpoint.name, endpoint.host, endpoint.port));
  session.out.print("{} controller {} with directory id {} and endpoints: {}\n", dry ? "DRY RUN of adding" : "Added", controller.id,
                    controller.directory_id.to_string(), fmt::join(texts, ", "));
  return Done{};
}

Tried<Done> remove_controller(const Options& options, client::Cluster& cluster, Session& session) {
  std::int32_t id = NEED(tried(options.int_value("controller-id"))).value_or(-1);
  if (id < 0) return refuse_change(fmt::format("Invalid negative --controller-id: {}", id));
  auto directory = parse_directory_id(options.values("controller-directory-id").front());
  if (!directory) return refuse_change(fmt::format("Failed to parse --controller-directory-id: {}", directory.error().message));
  bool dry = options.has("dry-run");
  if (!dry) {
    protocol::RemoveRaftVoterRequest request;
    request.voter_id = id;
    request.voter_directory_id = *directory;
    NEED(checked(client::ask_any<protocol::RemoveRaftVoterResponse>(cluster, "removeRaftVoter", request)));
  }
  session.out.print("{} KRaft controller {} with directory id {}\n", dry ? "DRY RUN of removing" : "Removed", id, directory->to_string());
  if (!options.has("unregister")) return Done{};
  session.out.flush();
  if (!dry) {
    protocol::UnregisterBrokerRequest request;
    request.broker_id = id;
    NEED(checked(client::ask_any<protocol::UnregisterBrokerResponse>(cluster, "unregisterController", request)));
  }
  session.out.print("{} KRaft controller {}\n", dry ? "DRY RUN of unregistering" : "Unregistered", id);
  return Done{};
}

}  // namespace cordwood::cli
