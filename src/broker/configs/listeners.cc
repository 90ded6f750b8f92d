#include "broker/configs/listeners.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

#include "broker/configs/config_value.h"

namespace cordwood::broker::configs {
namespace {

using Given = std::map<std::string, std::string>;
using ProtocolMap = std::map<std::string, std::string>;

std::string upper(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  return out;
}

Error invalid(std::string what) { return {Errc::invalid, std::move(what)}; }

std::vector<std::string> names_in(const Given& given, const std::string& key) {
  auto at = given.find(key);
  return at == given.end() ? std::vector<std::string>{} : split_list(at->second);
}

Result<ProtocolMap> read_protocol_map(const Given& given, const std::vector<std::string>& controller_names) {
  ProtocolMap map;
  auto at = given.find("listener.security.protocol.map");
  if (at == given.end()) {
    for (const char* protocol : {"PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"}) map[protocol] = protocol;
    for (const std::string& name : controller_names) map.try_emplace(name, "PLAINTEXT");
    return map;
  }
  for (const std::string& item : split_list(at->second)) {
    auto colon = item.rfind(':');
    if (colon == std::string::npos || colon == 0) {
      return invalid(fmt::format("Invalid value {} for configuration listener.security.protocol.map: '{}' is not "
                                 "<listener>:<protocol>",
                                 at->second, item));
    }
    std::string name = upper(trim(std::string_view(item).substr(0, colon)));
    std::string protocol = upper(trim(std::string_view(item).substr(colon + 1)));
    if (protocol != "PLAINTEXT" && protocol != "SSL" && protocol != "SASL_PLAINTEXT" && protocol != "SASL_SSL") {
      return invalid(fmt::format("Invalid value {} for configuration listener.security.protocol.map: there is no "
                                 "security protocol {}",
                                 at->second, protocol));
    }
    if (!map.emplace(name, protocol).second) {
      return invalid(fmt::format("Invalid value {} for configuration listener.security.protocol.map: listener {} "
                                 "appears twice",
                                 at->second, name));
    }
  }
  return map;
}

// "NAME://host:port", the host possibly empty or an IPv6 address in brackets.
std::optional<ListenerAddress> read_address(std::string_view text) {
  auto scheme = text.find("://");
  auto colon = text.rfind(':');
  if (scheme == std::string_view::npos || scheme == 0 || colon < scheme + 3) return {};
  ListenerAddress address;
  address.name = upper(text.substr(0, scheme));
  std::string_view host = text.substr(scheme + 3, colon - scheme - 3);
  if (host.starts_with('[')) {
    if (!host.ends_with(']')) return {};
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return {};
  }
  if (host.find_first_of("/ []") != std::string_view::npos) return {};
  address.host = std::string(host);
  std::string_view port = text.substr(colon + 1);
  auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
  if (port.empty() || error != std::errc{} || end != port.data() + port.size()) return {};
  return address;
}

Result<std::vector<ListenerAddress>> read_addresses(const std::string& key, const std::string& text,
                                                    const ProtocolMap& protocols) {
  std::vector<ListenerAddress> addresses;
  std::set<std::string> names;
  for (const std::string& item : split_list(text)) {
    auto address = read_address(item);
    if (!address) {
      return invalid(fmt::format("Invalid value {} for configuration {}: '{}' is not <listener>://<host>:<port>", text,
                                 key, item));
    }
    auto protocol = protocols.find(address->name);
    if (protocol == protocols.end()) {
      return invalid(fmt::format("No security protocol defined for listener {}: {} names it, and "
                                 "listener.security.protocol.map does not",
                                 address->name, key));
    }
    address->protocol = protocol->second;
    if (!names.insert(address->name).second) {
      return invalid(fmt::format("Each listener must have a different name, {}: {}", key, text));
    }
    addresses.push_back(std::move(*address));
  }
  return addresses;
}

Result<void> check_ports(const std::vector<ListenerAddress>& addresses, const std::string& text) {
  std::set<std::pair<std::string, std::uint16_t>> taken;
  for (const ListenerAddress& address : addresses) {
    if (address.port != 0 && !taken.emplace(address.host, address.port).second) {
      return invalid(fmt::format("Each listener must have a different port, listeners: {}", text));
    }
  }
  return {};
}

Result<void> check_protocols(const std::vector<ListenerAddress>& addresses) {
  for (const ListenerAddress& address : addresses) {
    if (address.protocol == "PLAINTEXT") continue;
    return Error{Errc::unsupported, fmt::format("listener {} asks for security protocol {}; only PLAINTEXT is served",
                                                address.name, address.protocol)};
  }
  return {};
}

}  // namespace

Result<void> read_listeners(const Given& given, Config& config) {
  std::vector<std::string> controller_names;
  for (const std::string& name : names_in(given, "controller.listener.names")) controller_names.push_back(upper(name));
  auto is_controller = [&](const ListenerAddress& address) {
    return std::ranges::count(controller_names, address.name) > 0;
  };
  if (!controller_names.empty()) config.controller_listener.name = controller_names.front();
  ProtocolMap protocols = TRY(read_protocol_map(given, controller_names));

  if (auto at = given.find("listeners"); at != given.end()) {
    auto all = TRY(read_addresses("listeners", at->second, protocols));
    TRY(check_ports(all, at->second));
    for (const ListenerAddress& address : all) {
      if (address.name == config.controller_listener.name) config.controller_listener = address;
    }
    if (config.controller_listener.host.empty()) config.controller_listener.host = "localhost";
    std::erase_if(all, is_controller);
    if (all.empty()) return invalid("listeners: no listener is left for clients beside the controller's");
    TRY(check_protocols(all));
    config.listeners = std::move(all);
  }
  if (auto at = given.find("advertised.listeners"); at != given.end()) {
    auto all = TRY(read_addresses("advertised.listeners", at->second, protocols));
    std::erase_if(all, is_controller);
    for (const ListenerAddress& address : all) {
      if (std::ranges::count(config.listeners, address.name, &ListenerAddress::name) == 0) {
        return invalid(fmt::format("advertised.listeners names {}, which is not among the listeners", address.name));
      }
      if (address.host == "0.0.0.0" || address.host == "::") {
        return invalid(fmt::format("advertised.listeners cannot use the nonroutable meta-address {}. Use a routable IP "
                                   "address.",
                                   address.host));
      }
    }
    if (!all.empty()) config.advertised_listeners = std::move(all);
  }
  return {};
}

}  // namespace cordwood::broker::configs
