// Reads topics from the beginning to their present end with franz-go; prints count and SHA-256 of each partition (see
// flights.py).
//
//	go run . 127.0.0.1:9092 TOPIC ...
package main

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"os"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

type digest struct {
	count int64
	sha   hash.Hash
}

func appendBytes(out, bytes []byte) []byte {
	if bytes == nil {
		return binary.BigEndian.AppendUint32(out, 0xffffffff)
	}
	out = binary.BigEndian.AppendUint32(out, uint32(len(bytes)))
	return append(out, bytes...)
}

func (d *digest) add(record *kgo.Record) {
	line := appendBytes(nil, record.Key)
	line = appendBytes(line, record.Value)
	line = binary.BigEndian.AppendUint64(line, uint64(record.Timestamp.UnixMilli()))
	d.sha.Write(line)
	d.count++
}

type place struct {
	topic     string
	partition int32
}

func read(bootstrap string, topics []string) (map[place]*digest, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(bootstrap), kgo.ConsumeTopics(topics...),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxPartitionBytes(4<<20))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	ends, err := kadm.NewClient(client).ListEndOffsets(context.Background(), topics...)
	if err != nil {
		return nil, err
	}
	unfinished := map[place]int64{}
	ends.Each(func(end kadm.ListedOffset) {
		if end.Offset > 0 {
			unfinished[place{end.Topic, end.Partition}] = end.Offset
		}
	})
	digests := map[place]*digest{}
	for len(unfinished) > 0 {
		wait, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		fetches := client.PollFetches(wait)
		cancel()
		if err := fetches.Err0(); err != nil {
			return nil, fmt.Errorf("%w; left: %v", err, unfinished)
		}
		fetches.EachRecord(func(record *kgo.Record) {
			at := place{record.Topic, record.Partition}
			if digests[at] == nil {
				digests[at] = &digest{sha: sha256.New()}
			}
			digests[at].add(record)
			if record.Offset+1 >= unfinished[at] {
				delete(unfinished, at)
			}
		})
	}
	return digests, nil
}

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: consume BOOTSTRAP TOPIC ...")
		os.Exit(1)
	}
	digests, err := read(os.Args[1], os.Args[2:])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	result := map[string]map[string][2]any{}
	for at, digest := range digests {
		if result[at.topic] == nil {
			result[at.topic] = map[string][2]any{}
		}
		result[at.topic][strconv.Itoa(int(at.partition))] = [2]any{digest.count, hex.EncodeToString(digest.sha.Sum(nil))}
	}
	json.NewEncoder(os.Stdout).Encode(result)
}
