// inspector/ticker.h — what those who listen to events are told: which topics have changed since each was told last, and one
// partition in detail for whoever wants that.
//
// Works only while somebody listens. Who is slow is told less often, and then all that has changed meanwhile.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "inspector/api.h"
#include "inspector/http_server.h"
#include "inspector/source.h"

namespace cordwood::inspector {

// One thread at a time, but for make_stream().
class Ticker {
 public:
  static constexpr std::size_t kMostTopics = 500;
  static constexpr DurationMs kLongestSilence{10'000};

  Ticker(Source& source, const Clock& clock) : source_(source), clock_(clock) {}

  // Errors: invalid for a partition without a topic, or the other way round.
  static Result<std::shared_ptr<EventStream>> make_stream(const api::EventsQuery& query);
  // "data: {…}\n\n" for each stream, or nothing.
  std::vector<std::string> tick(std::span<const std::shared_ptr<EventStream>> streams);
  void forget();

 private:
  struct Stream;
  // A topic as it was told.
  struct Told {
    std::int64_t records = 0;
    std::int64_t size_bytes = 0;
    std::int64_t partitions = 0;
    double rate = 0;
    std::uint64_t change = 0;  // the number of its last change
    std::uint64_t seen = 0;    // the tick in which it was there
  };
  void note_changes(const TopicTable& table);

  Source& source_;
  const Clock& clock_;
  std::map<std::string, Told> told_;
  std::map<std::uint64_t, std::string> changes_;  // topics by the number of their last change
  std::uint64_t last_change_ = 0;
  std::uint64_t ticks_ = 0;
};

}  // namespace cordwood::inspector
