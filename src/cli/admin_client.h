// cli/admin_client.h — the cluster that a command talks to: made from --bootstrap-server and --command-config, its warnings
// logged as Kafka's clients log them.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "cli/session.h"
#include "client/cluster.h"

namespace cordwood::cli {

// Waits; false when the user wants the program to end, or did before.
bool pause(const Session& session, DurationMs wait);

using Properties = std::vector<std::pair<std::string, std::string>>;

// The file's pairs in order. Errors: not_found with the path alone as its text (as Java's NoSuchFileException has it); invalid
// naming the line.
Result<Properties> read_properties_file(Session& session, const std::string& path);
// The last value of `key`; `otherwise` when it is not there.
std::string property(const Properties& properties, std::string_view key, std::string_view otherwise = "");

// What the properties of a client say of times and names. Errors: invalid naming the key ("Invalid value x for configuration
// retry.backoff.ms: Not a number of type LONG"); unsupported for security that we do not speak yet.
Result<client::ClusterOptions> cluster_options(const Properties& properties, client::ClusterOptions defaults = {});

// Logs "[AdminClient clientId=x] Connection to node -1 (localhost/127.0.0.1:9092) could not be established. ...".
class ConnectionLog final : public client::ClusterListener {
 public:
  // `who` is "AdminClient clientId=adminclient-1". Producers, consumers and the old admin client also log that a bootstrap
  // broker is gone.
  enum class Bootstrap { quiet, told };
  ConnectionLog(Session& session, std::string who, Bootstrap bootstrap = Bootstrap::quiet)
      : session_(session), who_(std::move(who)), bootstrap_(bootstrap) {}
  void cannot_connect(const client::Node& node, const std::string& address) override;
  void unresolvable(const client::HostPort& server) override;
  void wrong_endpoint(const client::Failure& failure) override;

 private:
  Session& session_;
  std::string who_;
  Bootstrap bootstrap_;
};

// A Cluster together with its log. `options.pause` is set here.
struct AdminClient {
  AdminClient(Session& session, client::ClusterOptions options);
  ConnectionLog log;
  client::Cluster cluster;
};

}  // namespace cordwood::cli
