// What the log does with records, and what a fetch sees of it.
package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/IBM/sarama"
)

func init() {
	tests["ordering"] = ordering
	tests["partitioning"] = partitioning
	tests["large"] = large
	tests["append-time"] = appendTime
	tests["mid-batch"] = midBatch
	tests["refusals"] = refusals
	tests["long-poll"] = longPoll
	tests["retention"] = retention
	tests["compaction"] = compaction
	tests["recompression"] = recompression
	tests["recreate"] = recreate
	tests["validate-only"] = validateOnly
}

func entries(pairs ...string) map[string]*string {
	made := map[string]*string{}
	for i := 0; i < len(pairs); i += 2 {
		made[pairs[i]] = &pairs[i+1]
	}
	return made
}

// batch sends all values at once, so that they share batches.
func batch(p sarama.SyncProducer, values ...string) {
	var messages []*sarama.ProducerMessage
	for _, value := range values {
		messages = append(messages, message(value))
	}
	must(p.SendMessages(messages))
}

func numbers(count int) []string {
	var made []string
	for i := range count {
		made = append(made, fmt.Sprint(i))
	}
	return made
}

func same(got []*sarama.ConsumerMessage, values []string) {
	check(len(got) == len(values), "%d records instead of %d", len(got), len(values))
	for i, message := range got {
		check(string(message.Value) == values[i], "%q at %d", message.Value, i)
	}
}

func bounds() (int64, int64) {
	client, err := sarama.NewClient([]string{broker}, config())
	must(err)
	defer client.Close()
	oldest, err := client.GetOffset(topic, 0, sarama.OffsetOldest)
	must(err)
	newest, err := client.GetOffset(topic, 0, sarama.OffsetNewest)
	must(err)
	return oldest, newest
}

func waitFor(what string, holds func() bool) {
	for !holds() {
		check(ctx.Err() == nil, "never: %s", what)
		time.Sleep(100 * time.Millisecond)
	}
}

func ordering() {
	create(1, nil)
	values := numbers(2000)
	batch(producer(func(c *sarama.Config) { c.Producer.Flush.MaxMessages = 70 }), values...)
	same(read(0, len(values), nil), values)
}

func partitioning() {
	create(8, nil)
	p := producer(nil)
	for i := range 8 {
		m := message("v")
		m.Partition = int32(i)
		partition, _, err := p.SendMessage(m)
		must(err)
		check(partition == int32(i), "partition %d instead of %d", partition, i)
	}
	hashing := producer(func(c *sarama.Config) { c.Producer.Partitioner = sarama.NewHashPartitioner })
	chosen := map[int32]bool{}
	for range 3 {
		m := message("v")
		m.Key = sarama.StringEncoder("the same key")
		partition, _, err := hashing.SendMessage(m)
		must(err)
		chosen[partition] = true
	}
	check(len(chosen) == 1, "one key on %v", chosen)
}

func large() {
	create(1, entries("max.message.bytes", "5000000"))
	value := strings.Repeat("x", 3_000_000)
	write(producer(func(c *sarama.Config) { c.Producer.MaxMessageBytes = 5_000_000 }), value)
	limits := func(c *sarama.Config) { c.Consumer.Fetch.Default = 1000 }
	same(read(0, 1, limits), []string{value})
}

func appendTime() {
	create(1, entries("message.timestamp.type", "LogAppendTime"))
	m := message("v")
	m.Timestamp = time.Unix(1234567, 0)
	_, _, err := producer(nil).SendMessage(m)
	must(err)
	got := read(0, 1, nil)[0]
	check(time.Since(got.Timestamp) < time.Hour, "the producer's time was kept: %v", got.Timestamp)
}

func midBatch() {
	create(1, nil)
	values := numbers(100)
	batch(producer(func(c *sarama.Config) { c.Producer.Compression = sarama.CompressionZSTD }), values...)
	same(read(57, 43, nil), values[57:])
}

func refusals() {
	create(1, entries("cleanup.policy", "compact", "message.timestamp.before.max.ms", "1000"))
	p := producer(nil)
	_, _, err := p.SendMessage(message("no key"))
	check(errors.Is(err, sarama.ErrInvalidRecord), "keyless: %v", err)
	m := message("v")
	m.Key, m.Timestamp = sarama.StringEncoder("k"), time.Unix(1234567, 0)
	_, _, err = p.SendMessage(m)
	check(errors.Is(err, sarama.ErrInvalidTimestamp), "old: %v", err)
	m = message("good")
	m.Key = sarama.StringEncoder("k")
	_, _, err = p.SendMessage(m)
	must(err)
	same(read(0, 1, nil), []string{"good"})
}

func longPoll() {
	create(1, nil)
	settings := config()
	settings.Consumer.MaxWaitTime = 20 * time.Second
	consumer, err := sarama.NewConsumer([]string{broker}, settings)
	must(err)
	partition, err := consumer.ConsumePartition(topic, 0, sarama.OffsetNewest)
	must(err)
	select {
	case m := <-partition.Messages():
		fail("%q from nowhere", m.Value)
	case <-time.After(300 * time.Millisecond):
	}
	write(producer(nil), "late")
	select {
	case m := <-partition.Messages():
		check(string(m.Value) == "late", "%q", m.Value)
	case <-time.After(15 * time.Second):
		fail("the waiting fetch was not woken")
	}
}

func retention() {
	create(1, entries("retention.bytes", "1000", "segment.bytes", "1048576"))
	p := producer(nil)
	for range 5 {
		write(p, strings.Repeat("x", 600_000))
	}
	waitFor("the log start moves", func() bool {
		oldest, newest := bounds()
		return oldest == 4 && newest == 5
	})
	check(read(4, 1, nil)[0].Offset == 4, "another offset")
}

func compaction() {
	create(1, entries("cleanup.policy", "compact", "segment.ms", "100",
		"delete.retention.ms", "100", "min.cleanable.dirty.ratio", "0.01"))
	p := producer(nil)
	send := func(key string, value sarama.Encoder) {
		m := &sarama.ProducerMessage{Topic: topic, Key: sarama.StringEncoder(key), Value: value}
		_, _, err := p.SendMessage(m)
		must(err)
	}
	for _, value := range []string{"1", "2", "3"} {
		for _, key := range []string{"a", "b", "gone"} {
			send(key, sarama.StringEncoder(value))
		}
	}
	send("gone", nil)
	waitFor("only the last values are left", func() bool {
		send("roll", sarama.StringEncoder("x"))
		return kept() == "a=3 b=3"
	})
}

// kept is what lies before the last record, which is always a "roll".
func kept() string {
	_, end := bounds()
	consumer, err := sarama.NewConsumer([]string{broker}, config())
	must(err)
	defer consumer.Close()
	partition, err := consumer.ConsumePartition(topic, 0, sarama.OffsetOldest)
	must(err)
	defer partition.Close()
	var told []string
	for {
		m := <-partition.Messages()
		if string(m.Key) != "roll" {
			told = append(told, fmt.Sprintf("%s=%s", m.Key, m.Value))
		}
		if m.Offset == end-1 {
			return strings.Join(told, " ")
		}
	}
}

func recompression() {
	create(1, entries("compression.type", "gzip"))
	value := strings.Repeat("compress me ", 100)
	batch(producer(func(c *sarama.Config) { c.Producer.Compression = sarama.CompressionLZ4 }), value, value)
	same(read(0, 2, nil), []string{value, value})
}

func recreate() {
	create(1, nil)
	write(producer(nil), "old", "old")
	must(admin().DeleteTopic(topic))
	create(1, nil)
	waitFor("it is empty", func() bool {
		_, end := bounds()
		return end == 0
	})
	write(producer(nil), "new")
	same(read(0, 1, nil), []string{"new"})
}

func validateOnly() {
	detail := &sarama.TopicDetail{NumPartitions: 2, ReplicationFactor: 1}
	must(admin().CreateTopic(topic, detail, true))
	listed, err := admin().ListTopics()
	must(err)
	_, there := listed[topic]
	check(!there, "created")
	detail.ReplicationFactor = 9
	err = admin().CreateTopic(topic, detail, true)
	check(errors.Is(err, sarama.ErrInvalidReplicationFactor), "nine replicas: %v", err)
}
