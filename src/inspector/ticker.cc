#include "inspector/ticker.h"

#include <cmath>
#include <tuple>

namespace cordwood::inspector {
namespace {

// A rate is told again when it has become another number to whoever reads it.
bool is_other_rate(double a, double b) { return std::abs(a - b) > 0.01 * std::max(std::abs(a), std::abs(b)); }

bool same_tick(const std::optional<api::PartitionTick>& a, const std::optional<api::PartitionTick>& b) {
  if (!a || !b) return a.has_value() == b.has_value();
  return std::tie(a->log_start, a->high_watermark, a->last_stable, a->log_end, a->size_bytes, a->segments) ==
             std::tie(b->log_start, b->high_watermark, b->last_stable, b->log_end, b->size_bytes, b->segments) &&
         !is_other_rate(a->records_per_second, b->records_per_second);
}

}  // namespace

struct Ticker::Stream final : EventStream {
  std::optional<TopicPartition> watched;
  std::optional<MonotonicNs> last_sent;
  std::uint64_t told_up_to = 0;
  std::optional<api::PartitionTick> last_partition;
};

Result<std::shared_ptr<EventStream>> Ticker::make_stream(const api::EventsQuery& query) {
  if (query.topic.has_value() != query.partition.has_value()) {
    return Error{Errc::invalid, query.topic ? "partition: is needed with a topic" : "topic: is needed with a partition"};
  }
  auto stream = std::make_shared<Stream>();
  if (query.partition) {
    if (*query.partition < 0 || *query.partition > INT32_MAX) return Error{Errc::invalid, "partition: must be 0 or more"};
    stream->watched = TopicPartition{*query.topic, PartitionId{static_cast<std::int32_t>(*query.partition)}};
  }
  return std::shared_ptr<EventStream>(std::move(stream));
}

void Ticker::note_changes(const TopicTable& table) {
  const bool is_first = ticks_++ == 0;
  for (const TopicFacts& facts : table.topics) {
    const auto [at, is_new] = told_.try_emplace(facts.name);
    Told& told = at->second;
    told.seen = ticks_;
    const double rate = facts.bytes_per_second.value_or(0);
    const bool has_changed = is_new || told.records != facts.records || told.size_bytes != facts.size_bytes ||
                             told.partitions != facts.partitions || is_other_rate(told.rate, rate);
    if (!has_changed) continue;
    if (told.change > 0) changes_.erase(told.change);
    told.records = facts.records;
    told.size_bytes = facts.size_bytes;
    told.partitions = facts.partitions;
    told.rate = rate;
    // What is there when the first one begins to listen is no change.
    if (is_first) continue;
    told.change = ++last_change_;
    changes_.emplace(told.change, facts.name);
  }
  std::erase_if(told_, [&](const auto& entry) {
    if (entry.second.seen == ticks_) return false;
    if (entry.second.change > 0) changes_.erase(entry.second.change);
    return true;
  });
}

std::vector<std::string> Ticker::tick(std::span<const std::shared_ptr<EventStream>> streams) {
  const auto table = source_.topics();
  note_changes(*table);
  const MonotonicNs now = clock_.monotonic();
  api::Tick all;
  all.now_ms = clock_.now().value;
  all.topics_total = static_cast<std::int64_t>(table->topics.size());
  all.groups_total = table->groups;
  for (const TopicFacts& facts : table->topics) {
    all.records_per_second += facts.records_per_second.value_or(0);
    all.bytes_per_second += facts.bytes_per_second.value_or(0);
  }
  // Most streams are told the same.
  std::map<std::pair<std::uint64_t, std::optional<TopicPartition>>, std::string> made;
  std::map<TopicPartition, std::optional<api::PartitionTick>> partitions;
  std::vector<std::string> events;
  events.reserve(streams.size());
  for (const auto& one : streams) {
    auto& stream = static_cast<Stream&>(*one);
    std::string& event = events.emplace_back();
    std::optional<api::PartitionTick> partition;
    if (stream.watched) {
      const auto known = partitions.find(*stream.watched);
      partition = known != partitions.end() ? known->second
                                            : partitions.emplace(*stream.watched, source_.partition_tick(*stream.watched)).first->second;
    }
    if (!stream.last_sent) stream.told_up_to = last_change_;
    const bool is_due = !stream.last_sent || stream.told_up_to < last_change_ || !same_tick(stream.last_partition, partition) ||
                        now - *stream.last_sent >= to_ns(kLongestSilence);
    if (!is_due) continue;
    std::uint64_t up_to = stream.told_up_to;
    std::vector<const std::string*> changed;
    for (auto at = changes_.upper_bound(stream.told_up_to); at != changes_.end() && changed.size() < kMostTopics; ++at) {
      changed.push_back(&at->second);
      up_to = at->first;
    }
    std::string& text = made[{stream.told_up_to, stream.watched}];
    if (text.empty()) {
      all.topics.clear();
      for (const std::string* name : changed) {
        const TopicFacts* facts = table->find(*name);
        if (facts == nullptr) continue;
        api::TopicTick& told = all.topics.emplace_back();
        told.name = facts->name;
        told.partitions = facts->partitions;
        told.records = facts->records;
        told.size_bytes = facts->size_bytes;
        told.records_per_second = facts->records_per_second.value_or(0);
        told.bytes_per_second = facts->bytes_per_second.value_or(0);
      }
      all.partition = partition;
      text = "data: ";
      append_json(text, all);
      text += "\n\n";
    }
    event = text;
    stream.last_sent = now;
    stream.told_up_to = changed.size() < kMostTopics ? last_change_ : up_to;
    stream.last_partition = partition;
  }
  return events;
}

void Ticker::forget() {
  told_.clear();
  changes_.clear();
  ticks_ = 0;
}

}  // namespace cordwood::inspector
