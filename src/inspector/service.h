// inspector/service.h — what the HTTP server serves: the guard first, then the endpoints, the events, /metrics, /ready, /live and the
// files of the page.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "broker/view.h"
#include "inspector/actions.h"
#include "inspector/guard.h"
#include "inspector/handlers.h"
#include "inspector/http_server.h"
#include "inspector/source.h"
#include "inspector/ticker.h"

namespace cordwood::inspector {

struct ServiceParts {
  Source& source;
  Actions* actions = nullptr;             // null: nothing may be changed
  const broker::View* view = nullptr;     // of a running broker
  io::FileSystem& files;                  // where /proc is looked for
  const Clock& clock;
  std::string version;
};

class Service final : public HttpService {
 public:
  // What `parts` refers to must outlive it.
  Service(ServiceParts parts, GuardRules rules);

  HttpAnswer answer(const HttpRequest& request) override;
  std::optional<HttpAnswer> answer_at_once(const HttpRequest& request) override;
  std::vector<std::string> tick(std::span<const std::shared_ptr<EventStream>> streams) override;
  void all_streams_ended() override;

  // What /ready says.
  void set_ready(bool ready) { ready_ = ready; }

 private:
  HttpAnswer answer_api(const HttpRequest& request, const api::Target& target);
  HttpAnswer answer_page(const HttpRequest& request, std::string_view path);

  const ServiceParts parts_;
  const GuardRules rules_;
  SourceHandlers handlers_;
  Mutex ticker_mu_;
  Ticker ticker_ GUARDED_BY(ticker_mu_);
  std::atomic<bool> ready_ = false;
};

// "{"error": …, "field": …}"; the field of an error that begins with "name: ".
HttpAnswer problem_answer(int status, const std::string& error);
int status_of(Errc code);

}  // namespace cordwood::inspector
