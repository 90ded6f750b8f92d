// inspector/broker_inspector.h — the inspector of a running broker: its port, and all that is behind it.
//
// The port is open before the broker is: until then /live is answered, and all else with 503. It is closed before the broker stops.
// Threads: one, the one that starts and stops the broker.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "broker/broker.h"
#include "broker/view.h"
#include "inspector/http_server.h"
#include "inspector/live_source.h"
#include "inspector/service.h"

namespace cordwood::inspector {

class BrokerInspector final : private HttpService {
 public:
  static constexpr const char* kDefaultListener = "127.0.0.1:9192";

  // As the settings say. Null: there is to be none, or the default port is taken, which is logged and no fault. Errors: invalid for
  // the settings; locked when the port that they name is taken; io.
  static Result<std::unique_ptr<BrokerInspector>> open(const broker::Config& config, const Clock& clock, Random& random, Logger& logger,
                                                       std::string version);
  ~BrokerInspector() override;

  // The broker answers requests from now on. It must outlive what follows, up to stop().
  void show(broker::Broker& broker, TimestampMs started);
  // It will stop: /ready says so.
  void set_stopping();
  // Nobody is answered any more. Idempotent.
  void stop();

  // "http://127.0.0.1:9192/", with the token where one is demanded that nobody has given.
  std::string address() const;

 private:
  BrokerInspector(const Clock& clock, Random& random, std::string version) : clock_(clock), random_(random), version_(std::move(version)) {}
  HttpAnswer answer(const HttpRequest& request) override;
  std::optional<HttpAnswer> answer_at_once(const HttpRequest& request) override;
  std::vector<std::string> tick(std::span<const std::shared_ptr<EventStream>> streams) override;
  void all_streams_ended() override;

  // All that needs a broker.
  struct Shown {
    Shown(broker::Broker& broker, const Clock& clock, Random& random, TimestampMs started, bool may_act, const GuardRules& rules,
          const std::string& version);
    broker::View view;
    LiveSource source;
    Actions actions;
    Service service;
  };

  const Clock& clock_;
  Random& random_;
  const std::string version_;
  GuardRules rules_;
  bool token_was_made_ = false;
  std::unique_ptr<Shown> shown_;
  std::atomic<Service*> service_ = nullptr;
  std::unique_ptr<HttpServer> server_;
};

// A token that nobody guesses: 32 hexadecimal digits.
std::string make_token(Random& random);
// Errors: invalid for one that is too short to be one, or would not fit into a header.
Result<void> check_token(std::string_view token);

}  // namespace cordwood::inspector
