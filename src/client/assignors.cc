#include "client/assignors.h"

#include <algorithm>
#include <set>

#include "base/check.h"

namespace cordwood::client {
namespace {

constexpr std::int16_t kNewestSubscription = 3;

// Members with an instance id come first, in its order: static members keep their place whatever id they get.
std::vector<std::string> in_order(const Subscriptions& members) {
  std::vector<std::string> ids;
  for (const auto& [id, subscription] : members) ids.push_back(id);
  std::ranges::sort(ids, [&](const std::string& a, const std::string& b) {
    const auto& first = members.at(a).instance_id;
    const auto& second = members.at(b).instance_id;
    if (first && second) return *first < *second;
    if (first || second) return first.has_value();
    return a < b;
  });
  return ids;
}

Assignment nothing_for(const Subscriptions& members) {
  Assignment assignment;
  for (const auto& [id, subscription] : members) assignment[id];
  return assignment;
}

bool wants(const Subscription& subscription, const std::string& topic) {
  return std::ranges::find(subscription.topics, topic) != subscription.topics.end();
}

std::set<std::string> subscribed_topics(const PartitionCounts& counts, const Subscriptions& members) {
  std::set<std::string> topics;
  for (const auto& [id, subscription] : members) {
    for (const std::string& topic : subscription.topics) {
      if (counts.contains(topic)) topics.insert(topic);
    }
  }
  return topics;
}

std::vector<TopicPartition> all_partitions(const PartitionCounts& counts, const Subscriptions& members) {
  std::vector<TopicPartition> partitions;
  for (const std::string& topic : subscribed_topics(counts, members)) {
    for (std::int32_t i = 0; i < counts.at(topic); ++i) partitions.push_back({topic, {i}});
  }
  return partitions;
}

void write_string(ByteWriter& writer, std::string_view text) {
  writer.i16(static_cast<std::int16_t>(text.size()));
  writer.text(text);
}

std::string read_string(ByteReader& reader) { return std::string(as_text(reader.bytes(reader.i16()))); }

void write_partitions(ByteWriter& writer, const std::vector<TopicPartition>& partitions) {
  std::map<std::string, std::vector<std::int32_t>> by_topic;
  for (const TopicPartition& partition : partitions) by_topic[partition.topic].push_back(partition.partition.value);
  writer.i32(static_cast<std::int32_t>(by_topic.size()));
  for (const auto& [topic, indexes] : by_topic) {
    write_string(writer, topic);
    writer.i32(static_cast<std::int32_t>(indexes.size()));
    for (std::int32_t index : indexes) writer.i32(index);
  }
}

std::vector<TopicPartition> read_partitions(ByteReader& reader) {
  std::vector<TopicPartition> partitions;
  std::int32_t topics = reader.i32();
  for (std::int32_t i = 0; i < topics && reader.ok(); ++i) {
    std::string topic = read_string(reader);
    std::int32_t count = reader.i32();
    for (std::int32_t k = 0; k < count && reader.ok(); ++k) {
      std::int32_t index = reader.i32();
      if (reader.ok()) partitions.push_back({topic, {index}});
    }
  }
  return partitions;
}

// What the eager sticky assignor of Kafka's client tells: partitions and their generation; of the cooperative one, the generation alone.
void read_sticky_data(BytesView user_data, Subscription& subscription) {
  ByteReader generation_alone(user_data);
  const std::int32_t generation = generation_alone.i32();
  if (generation_alone.ok() && generation_alone.remaining() == 0) {
    if (subscription.generation < 0) subscription.generation = generation;
    return;
  }
  ByteReader reader(user_data);
  std::vector<TopicPartition> owned = read_partitions(reader);
  const std::int32_t owned_in = reader.i32();
  if (!reader.ok() || reader.remaining() > 0) return;
  subscription.owned = std::move(owned);
  subscription.generation = owned_in;
}

// The sticky rule. Two steps: everybody keeps what it owns as far as it is fair, then the rest is dealt out.
class StickySharing {
 public:
  StickySharing(const PartitionCounts& counts, const Subscriptions& members) : members_(members) {
    for (TopicPartition& partition : all_partitions(counts, members)) free_.insert(std::move(partition));
    shares_ = nothing_for(members);
  }

  Assignment share() {
    keep_owned();
    deal_out();
    balance();
    send_home();
    return shares_;
  }

 private:
  std::size_t size_of(const std::string& member) const { return shares_.at(member).size(); }

  // Of several that claim a partition the one with the newest generation owns it; among equals nobody does.
  void keep_owned() {
    struct Claim {
      std::string member;
      std::int32_t generation;
      bool disputed = false;
    };
    std::map<TopicPartition, Claim> claims;
    std::int32_t newest = -1;
    for (const auto& [id, subscription] : members_) newest = std::max(newest, subscription.generation);
    for (const auto& [id, subscription] : members_) {
      for (const TopicPartition& partition : subscription.owned) {
        if (!free_.contains(partition) || !wants(subscription, partition.topic)) continue;
        auto [place, fresh] = claims.try_emplace(partition, Claim{id, subscription.generation});
        Claim& claim = place->second;
        if (fresh) continue;
        if (subscription.generation > claim.generation) {
          claim = {id, subscription.generation};
        } else if (subscription.generation == claim.generation) {
          claim.disputed = true;
        }
      }
    }
    for (const auto& [partition, claim] : claims) {
      if (claim.disputed) continue;
      shares_[claim.member].push_back(partition);
      homes_[partition] = claim.member;
      free_.erase(partition);
    }
  }

  // Each free partition goes to the member with the least of those that want its topic; the topics with the fewest takers first.
  void deal_out() {
    std::map<std::string, std::vector<std::string>> takers;
    for (const auto& [id, subscription] : members_) {
      for (const std::string& topic : std::set<std::string>(subscription.topics.begin(), subscription.topics.end())) {
        takers[topic].push_back(id);
      }
    }
    std::vector<TopicPartition> order(free_.begin(), free_.end());
    std::ranges::stable_sort(order, {}, [&](const TopicPartition& partition) { return takers.at(partition.topic).size(); });
    for (const TopicPartition& partition : order) {
      const auto& candidates = takers.at(partition.topic);
      auto least = std::ranges::min_element(candidates, {}, [&](const std::string& id) { return size_of(id); });
      shares_[*least].push_back(partition);
    }
    free_.clear();
  }

  // Until there is no chain any more: then no other sharing is more even.
  void balance() {
    std::vector<std::string> by_size;
    for (const auto& [id, share] : shares_) by_size.push_back(id);
    while (true) {
      std::ranges::stable_sort(by_size, {}, [&](const std::string& id) { return size_of(id); });
      const auto has_moved = [&](const std::string& giver) {
        return size_of(giver) >= size_of(by_size.front()) + 2 && move_along_chain(giver, by_size);
      };
      if (std::none_of(by_size.rbegin(), by_size.rend(), has_moved)) return;
    }
  }

  // The shortest chain of members, each of which has a partition that the next one wants, from `giver` to one with at least two less:
  // each passes one on. `by_size`: all members, those with least first. False: there is none.
  bool move_along_chain(const std::string& giver, const std::vector<std::string>& by_size) {
    std::map<std::string, std::string> before{{giver, ""}};
    std::vector<std::string> reached{giver};
    for (std::size_t i = 0; i < reached.size(); ++i) {
      const std::string from = reached[i];
      for (const std::string& taker : by_size) {
        if (before.contains(taker) || !has_for(from, taker)) continue;
        before[taker] = from;
        reached.push_back(taker);
        if (size_of(giver) < size_of(taker) + 2) continue;
        for (std::string to = taker; to != giver; to = before[to]) move_one(before[to], to);
        return true;
      }
    }
    return false;
  }

  // Balancing may have moved more than it had to: what can go back to its owner without making the sizes less even does.
  void send_home() {
    for (bool moved = true; moved;) {
      moved = false;
      for (auto& [holder, share] : shares_) {
        for (std::size_t i = 0; i < share.size(); ++i) {
          const auto home = homes_.find(share[i]);
          if (home == homes_.end() || home->second == holder || size_of(home->second) >= share.size()) continue;
          shares_[home->second].push_back(share[i]);
          share.erase(share.begin() + static_cast<std::ptrdiff_t>(i));
          moved = true;
          break;
        }
      }
    }
  }

  bool has_for(const std::string& giver, const std::string& taker) const {
    const Subscription& wanting = members_.at(taker);
    return std::ranges::any_of(shares_.at(giver), [&](const TopicPartition& partition) { return wants(wanting, partition.topic); });
  }

  void move_one(const std::string& giver, const std::string& taker) {
    auto& from = shares_[giver];
    const Subscription& wanting = members_.at(taker);
    // The last one that it got: what it owned longest stays.
    const auto found = std::find_if(from.rbegin(), from.rend(), [&](const TopicPartition& partition) { return wants(wanting, partition.topic); });
    CHECK(found != from.rend(), "{} has nothing for {}", giver, taker);
    shares_[taker].push_back(*found);
    from.erase(std::next(found).base());
  }

  const Subscriptions& members_;
  std::set<TopicPartition> free_;
  std::map<TopicPartition, std::string> homes_;  // who owned it until now, and may again
  Assignment shares_;
};

}  // namespace

Assignment assign_ranges(const PartitionCounts& counts, const Subscriptions& members) {
  Assignment assignment = nothing_for(members);
  const std::vector<std::string> order = in_order(members);
  for (const std::string& topic : subscribed_topics(counts, members)) {
    std::vector<std::string> takers;
    for (const std::string& id : order) {
      if (wants(members.at(id), topic)) takers.push_back(id);
    }
    const auto taker_count = static_cast<std::int32_t>(takers.size());
    std::int32_t next = 0;
    for (std::int32_t i = 0; i < taker_count; ++i) {
      std::int32_t share = counts.at(topic) / taker_count + (i < counts.at(topic) % taker_count ? 1 : 0);
      for (std::int32_t k = 0; k < share; ++k) assignment[takers[static_cast<std::size_t>(i)]].push_back({topic, {next++}});
    }
  }
  return assignment;
}

Assignment assign_round_robin(const PartitionCounts& counts, const Subscriptions& members) {
  Assignment assignment = nothing_for(members);
  const std::vector<std::string> order = in_order(members);
  std::size_t turn = 0;
  for (const TopicPartition& partition : all_partitions(counts, members)) {
    while (!wants(members.at(order[turn % order.size()]), partition.topic)) ++turn;
    assignment[order[turn++ % order.size()]].push_back(partition);
  }
  return assignment;
}

Assignment assign_sticky(const PartitionCounts& counts, const Subscriptions& members) {
  return StickySharing(counts, members).share();
}

Assignment assign_cooperatively(const PartitionCounts& counts, const Subscriptions& members) {
  Assignment assignment = assign_sticky(counts, members);
  std::map<TopicPartition, std::string> owners;
  for (const auto& [id, subscription] : members) {
    for (const TopicPartition& partition : subscription.owned) owners[partition] = id;
  }
  for (auto& [id, share] : assignment) {
    std::erase_if(share, [&](const TopicPartition& partition) {
      auto owner = owners.find(partition);
      return owner != owners.end() && owner->second != id;
    });
  }
  return assignment;
}

ByteVector encode_subscription(const Subscription& subscription, StickyProtocol protocol) {
  const bool is_eager = protocol == StickyProtocol::eager;
  ByteWriter writer;
  writer.i16(kNewestSubscription);
  std::set<std::string> topics(subscription.topics.begin(), subscription.topics.end());
  writer.i32(static_cast<std::int32_t>(topics.size()));
  for (const std::string& topic : topics) write_string(writer, topic);
  ByteWriter user_data;
  if (is_eager) write_partitions(user_data, subscription.owned);
  if (protocol != StickyProtocol::none) user_data.i32(subscription.generation);
  if (user_data.size() == 0) {
    writer.i32(-1);
  } else {
    writer.i32(static_cast<std::int32_t>(user_data.size()));
    writer.bytes(user_data.view());
  }
  write_partitions(writer, is_eager ? std::vector<TopicPartition>() : subscription.owned);
  writer.i32(subscription.generation);
  writer.i16(-1);  // rack: none
  return writer.take();
}

Result<Subscription> decode_subscription(BytesView bytes) {
  ByteReader reader(bytes);
  Subscription subscription;
  std::int16_t version = reader.i16();
  std::int32_t topics = reader.i32();
  for (std::int32_t i = 0; i < topics && reader.ok(); ++i) subscription.topics.push_back(read_string(reader));
  std::int32_t user_data_size = reader.i32();
  const BytesView user_data = user_data_size > 0 ? reader.bytes(user_data_size) : BytesView();
  if (version >= 1) subscription.owned = read_partitions(reader);
  if (version >= 2) subscription.generation = reader.i32();
  if (!reader.ok() || version < 0) return Error{Errc::corrupt, "a member's subscription does not parse"};
  if (subscription.owned.empty()) read_sticky_data(user_data, subscription);
  return subscription;
}

ByteVector encode_assignment(const std::vector<TopicPartition>& partitions) {
  ByteWriter writer;
  writer.i16(kNewestSubscription);
  write_partitions(writer, partitions);
  writer.i32(-1);  // user data: none
  return writer.take();
}

Result<std::vector<TopicPartition>> decode_assignment(BytesView bytes) {
  if (bytes.empty()) return std::vector<TopicPartition>();
  ByteReader reader(bytes);
  std::int16_t version = reader.i16();
  std::vector<TopicPartition> partitions = read_partitions(reader);
  if (!reader.ok() || version < 0) return Error{Errc::corrupt, "the assignment does not parse"};
  return partitions;
}

}  // namespace cordwood::client
