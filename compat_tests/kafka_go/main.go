// Behaviours through segmentio/kafka-go: `kafka_go HOST:PORT TEST TOPIC`.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/segmentio/kafka-go"

	"kafkapy/compat/go_clients"
)

var (
	broker, topic string
	ctx           context.Context
	client        *kafka.Client
)

var fail, must, check = go_clients.Fail, go_clients.Must, go_clients.Check

var tests = map[string]func(){
	"codecs":      codecs,
	"headers":     headers,
	"acks":        acks,
	"too-large":   tooLarge,
	"seek":        seek,
	"by-time":     byTime,
	"topics":      topics,
	"configs":     configs,
	"group":       group,
	"group-admin": groupAdmin,
}

func main() {
	test := tests[os.Args[2]]
	if test == nil {
		fail("no test %q", os.Args[2])
	}
	broker, topic = os.Args[1], os.Args[3]
	client = &kafka.Client{Addr: kafka.TCP(broker), Timeout: 20 * time.Second}
	var cancel context.CancelFunc
	ctx, cancel = context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	test()
}

func create(partitions int, entries ...kafka.ConfigEntry) {
	config := kafka.TopicConfig{
		Topic: topic, NumPartitions: partitions, ReplicationFactor: 1, ConfigEntries: entries,
	}
	answer, err := client.CreateTopics(ctx, &kafka.CreateTopicsRequest{Topics: []kafka.TopicConfig{config}})
	must(err)
	must(answer.Errors[topic])
	for !isLed(partitions) {
		check(ctx.Err() == nil, "no leaders")
		time.Sleep(20 * time.Millisecond)
	}
}

func isLed(partitions int) bool {
	requests := []kafka.OffsetRequest{kafka.LastOffsetOf(partitions - 1)}
	found, err := client.ListOffsets(ctx, &kafka.ListOffsetsRequest{
		Topics: map[string][]kafka.OffsetRequest{topic: requests},
	})
	return err == nil && found.Topics[topic][0].Error == nil
}

func writer() *kafka.Writer {
	return &kafka.Writer{
		Addr: kafka.TCP(broker), Topic: topic, BatchTimeout: time.Millisecond,
		RequiredAcks: kafka.RequireAll, MaxAttempts: 3,
	}
}

func write(w *kafka.Writer, values ...string) {
	for _, value := range values {
		must(w.WriteMessages(ctx, kafka.Message{Value: []byte(value)}))
	}
}

func reader(config kafka.ReaderConfig) *kafka.Reader {
	config.Brokers, config.Topic = []string{broker}, topic
	config.MaxWait = 100 * time.Millisecond
	config.HeartbeatInterval = 200 * time.Millisecond
	config.StartOffset = kafka.FirstOffset
	return kafka.NewReader(config)
}

func read(r *kafka.Reader, count int) []kafka.Message {
	var got []kafka.Message
	for len(got) < count {
		message, err := r.FetchMessage(ctx)
		must(err)
		got = append(got, message)
	}
	return got
}

func codecs() {
	create(1)
	value := string(bytes.Repeat([]byte("compress me "), 100))
	for _, kind := range []kafka.Compression{0, kafka.Gzip, kafka.Snappy, kafka.Lz4, kafka.Zstd} {
		w := writer()
		w.Compression = kind
		write(w, value, value)
	}
	for _, message := range read(reader(kafka.ReaderConfig{}), 10) {
		check(string(message.Value) == value, "another record at %d", message.Offset)
	}
}

func headers() {
	create(1)
	sent := []kafka.Header{{Key: "b", Value: []byte("1")}, {Key: "a", Value: []byte("2")}}
	must(writer().WriteMessages(ctx, kafka.Message{Key: []byte("k"), Headers: sent}))
	got := read(reader(kafka.ReaderConfig{}), 1)[0]
	check(string(got.Key) == "k" && len(got.Value) == 0, "%q %q", got.Key, got.Value)
	check(len(got.Headers) == 2 && got.Headers[0].Key == "b", "%v", got.Headers)
}

func acks() {
	create(1)
	for _, acks := range []kafka.RequiredAcks{kafka.RequireNone, kafka.RequireOne, kafka.RequireAll} {
		w := writer()
		w.RequiredAcks = acks
		write(w, "v")
	}
	read(reader(kafka.ReaderConfig{}), 3)
}

func tooLarge() {
	create(1, kafka.ConfigEntry{ConfigName: "max.message.bytes", ConfigValue: "5000"})
	w := writer()
	err := w.WriteMessages(ctx, kafka.Message{Value: make([]byte, 9000)})
	check(err != nil && strings.Contains(err.Error(), "Message Size Too Large"), "got %v", err)
	write(w, "small")
}

func seek() {
	create(1)
	write(writer(), "0", "1", "2", "3")
	r := reader(kafka.ReaderConfig{Partition: 0})
	must(r.SetOffset(2))
	check(string(read(r, 1)[0].Value) == "2", "not at 2")
	must(r.SetOffset(kafka.FirstOffset))
	check(string(read(r, 1)[0].Value) == "0", "not at the start")
	connection, err := kafka.DialLeader(ctx, "tcp", broker, topic, 0)
	must(err)
	first, last, err := connection.ReadOffsets()
	must(err)
	check(first == 0 && last == 4, "%d to %d", first, last)
	batch := connection.ReadBatch(1, 1_000_000)
	for i := range 4 {
		message, err := batch.ReadMessage()
		if errors.Is(err, io.EOF) {
			break
		}
		must(err)
		check(string(message.Value) == fmt.Sprint(i), "%s at %d", message.Value, i)
	}
}

func byTime() {
	create(1)
	start := time.Now().Add(-time.Hour).Truncate(time.Second)
	for i := range 4 {
		when := start.Add(time.Duration(i) * time.Minute)
		must(writer().WriteMessages(ctx, kafka.Message{Value: []byte("v"), Time: when}))
	}
	r := reader(kafka.ReaderConfig{Partition: 0})
	must(r.SetOffsetAt(ctx, start.Add(90*time.Second)))
	check(read(r, 1)[0].Offset == 2, "another offset")
}

func topics() {
	create(2)
	twice := kafka.TopicConfig{Topic: topic, NumPartitions: 1, ReplicationFactor: 1}
	answer, err := client.CreateTopics(ctx, &kafka.CreateTopicsRequest{Topics: []kafka.TopicConfig{twice}})
	must(err)
	check(errors.Is(answer.Errors[topic], kafka.TopicAlreadyExists), "%v", answer.Errors[topic])
	grown, err := client.CreatePartitions(ctx, &kafka.CreatePartitionsRequest{
		Topics: []kafka.TopicPartitionsConfig{{Name: topic, Count: 3}},
	})
	must(err)
	must(grown.Errors[topic])
	metadata, err := client.Metadata(ctx, &kafka.MetadataRequest{Topics: []string{topic}})
	must(err)
	check(len(metadata.Brokers) >= nodes() && metadata.Topics[0].Error == nil, "%v", metadata)
	deleted, err := client.DeleteTopics(ctx, &kafka.DeleteTopicsRequest{Topics: []string{topic}})
	must(err)
	must(deleted.Errors[topic])
}

func configs() {
	create(1)
	resource := kafka.IncrementalAlterConfigsRequestResource{
		ResourceType: kafka.ResourceTypeTopic, ResourceName: topic,
		Configs: []kafka.IncrementalAlterConfigsRequestConfig{{
			Name: "retention.ms", Value: "12345", ConfigOperation: kafka.ConfigOperationSet,
		}},
	}
	_, err := client.IncrementalAlterConfigs(ctx, &kafka.IncrementalAlterConfigsRequest{
		Resources: []kafka.IncrementalAlterConfigsRequestResource{resource},
	})
	must(err)
	for {
		found, err := client.DescribeConfigs(ctx, &kafka.DescribeConfigsRequest{
			Resources: []kafka.DescribeConfigRequestResource{{
				ResourceType: kafka.ResourceTypeTopic, ResourceName: topic,
				ConfigNames: []string{"retention.ms"},
			}},
		})
		must(err)
		check(ctx.Err() == nil, "the config did not change")
		if found.Resources[0].ConfigEntries[0].ConfigValue == "12345" {
			return
		}
	}
}

func group() {
	create(2)
	write(writer(), "1", "2", "3")
	first := reader(kafka.ReaderConfig{GroupID: "group-" + topic})
	must(first.CommitMessages(ctx, read(first, 3)...))
	must(first.Close())
	write(writer(), "after")
	second := reader(kafka.ReaderConfig{GroupID: "group-" + topic})
	check(string(read(second, 1)[0].Value) == "after", "it did not go on from its commit")
	must(second.Close())
}

func groupAdmin() {
	group()
	name := "group-" + topic
	listed, err := client.ListGroups(ctx, &kafka.ListGroupsRequest{})
	must(err)
	found := false
	for _, each := range listed.Groups {
		found = found || each.GroupID == name
	}
	check(found, "not listed")
	described, err := client.DescribeGroups(ctx, &kafka.DescribeGroupsRequest{GroupIDs: []string{name}})
	must(err)
	check(described.Groups[0].GroupState == "Empty", "state %s", described.Groups[0].GroupState)
	offsets, err := client.OffsetFetch(ctx, &kafka.OffsetFetchRequest{
		GroupID: name, Topics: map[string][]int{topic: {0, 1}},
	})
	must(err)
	total := int64(0)
	for _, partition := range offsets.Topics[topic] {
		total += max(0, partition.CommittedOffset)
	}
	check(total == 3, "commits of %d records", total)
	deleted, err := client.DeleteGroups(ctx, &kafka.DeleteGroupsRequest{GroupIDs: []string{name}})
	must(err)
	must(deleted.Errors[name])
}

// How many nodes the server has.
func nodes() int {
	count, err := strconv.Atoi(os.Getenv("COMPAT_NODES"))
	if err != nil {
		return 1
	}
	return count
}
