// Behaviours through franz-go: `franz_go HOST:PORT TEST TOPIC` exits 0 or says what is wrong.
// It speaks the newest versions, and transactions the implicit way (KIP-890).
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"kafkapy/compat/go_clients"
)

var (
	broker, topic string
	ctx           context.Context
)

var fail, must, check = go_clients.Fail, go_clients.Must, go_clients.Check

var tests = map[string]func(){
	"codecs":         codecs,
	"headers":        headers,
	"ordering":       ordering,
	"too-large":      tooLarge,
	"acks":           acks,
	"seek":           seek,
	"by-time":        byTime,
	"compacted":      compacted,
	"topics":         topics,
	"configs":        configs,
	"delete-records": deleteRecords,
	"cluster":        cluster,
	"recreate":       recreate,
	"group":          func() { group(ctx) },
	"consumer-group": func() { group(context.WithValue(ctx, "opt_in_kafka_next_gen_balancer_beta", true)) },
	"rebalance":      rebalance,
	"group-admin":    groupAdmin,
	"transactions":   transactions,
	"exactly-once":   exactlyOnce,
}

func main() {
	if os.Args[1] == "member" {
		var asked order
		must(json.Unmarshal([]byte(os.Args[2]), &asked))
		member(asked)
		return
	}
	if os.Args[1] == "produce" {
		produce(os.Args[2], os.Args[3], number(os.Args[4]), number(os.Args[5]))
		return
	}
	if os.Args[1] == "login" {
		login(go_clients.LoginOf(os.Args[2]))
		return
	}
	test := tests[os.Args[2]]
	if test == nil {
		fail("no test %q", os.Args[2])
	}
	broker, topic = os.Args[1], os.Args[3]
	var cancel context.CancelFunc
	ctx, cancel = context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	test()
}

func client(options ...kgo.Opt) *kgo.Client {
	c, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(broker)}, options...)...)
	must(err)
	return c
}

func create(name string, partitions int32, configs map[string]*string) *kadm.Client {
	admin := kadm.NewClient(client())
	_, err := admin.CreateTopic(ctx, partitions, -1, configs, name)
	must(err)
	waitFor("leaders", func() bool {
		found, err := admin.ListEndOffsets(ctx, name)
		return err == nil && found.Error() == nil && len(found[name]) == int(partitions)
	})
	return admin
}

func waitFor(what string, done func() bool) {
	for !done() {
		select {
		case <-ctx.Done():
			fail("never: %s", what)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func write(c *kgo.Client, values ...string) {
	for _, value := range values {
		record := &kgo.Record{Topic: topic, Value: []byte(value), Partition: 0}
		must(c.ProduceSync(ctx, record).FirstErr())
	}
}

func read(c *kgo.Client, count int) []*kgo.Record {
	var got []*kgo.Record
	for len(got) < count {
		fetches := c.PollFetches(ctx)
		for _, failed := range fetches.Errors() {
			must(failed.Err)
		}
		got = append(got, fetches.Records()...)
	}
	check(len(got) == count, "%d records instead of %d", len(got), count)
	return got
}

func from(offset kgo.Offset) []kgo.Opt {
	places := map[string]map[int32]kgo.Offset{topic: {0: offset}}
	return []kgo.Opt{kgo.ConsumePartitions(places)}
}

func values(records []*kgo.Record) string {
	var all []string
	for _, record := range records {
		all = append(all, string(record.Value))
	}
	return strings.Join(all, " ")
}

func codecs() {
	create(topic, 1, nil)
	kinds := []kgo.CompressionCodec{
		kgo.NoCompression(), kgo.GzipCompression(), kgo.SnappyCompression(),
		kgo.Lz4Compression(), kgo.ZstdCompression(),
	}
	value := bytes.Repeat([]byte("compress me "), 100)
	for _, kind := range kinds {
		c := client(kgo.ProducerBatchCompression(kind))
		for range 20 {
			c.Produce(ctx, &kgo.Record{Topic: topic, Value: value}, nil)
		}
		must(c.Flush(ctx))
	}
	for _, record := range read(client(from(kgo.NewOffset().AtStart())...), 100) {
		check(bytes.Equal(record.Value, value), "offset %d is another record", record.Offset)
	}
}

func headers() {
	create(topic, 1, nil)
	sent := []kgo.RecordHeader{{Key: "b", Value: []byte("1")}, {Key: "a"}, {Key: "b", Value: []byte{}}}
	c := client()
	must(c.ProduceSync(ctx, &kgo.Record{Topic: topic, Headers: sent}).FirstErr())
	must(c.ProduceSync(ctx, &kgo.Record{Topic: topic, Key: []byte{}, Value: []byte{}}).FirstErr())
	got := read(client(from(kgo.NewOffset().AtStart())...), 2)
	check(got[0].Key == nil && got[0].Value == nil, "null became something")
	check(got[1].Key != nil && got[1].Value != nil, "empty became null")
	check(len(got[0].Headers) == 3, "%d headers", len(got[0].Headers))
	for i, header := range got[0].Headers {
		same := header.Key == sent[i].Key && (header.Value == nil) == (sent[i].Value == nil)
		check(same, "header %d changed", i)
	}
}

func ordering() {
	create(topic, 1, nil)
	c := client()
	for i := range 2000 {
		c.Produce(ctx, &kgo.Record{Topic: topic, Value: fmt.Append(nil, i)}, nil)
	}
	must(c.Flush(ctx))
	for i, record := range read(client(from(kgo.NewOffset().AtStart())...), 2000) {
		check(string(record.Value) == fmt.Sprint(i), "%s at %d", record.Value, i)
	}
}

func tooLarge() {
	limit := "5000"
	create(topic, 1, map[string]*string{"max.message.bytes": &limit})
	c := client(kgo.DisableIdempotentWrite(), kgo.ProducerBatchCompression(kgo.NoCompression()))
	err := c.ProduceSync(ctx, &kgo.Record{Topic: topic, Value: make([]byte, 9000)}).FirstErr()
	check(errors.Is(err, kerr.MessageTooLarge), "got %v", err)
	write(c, "small")
}

func acks() {
	create(topic, 1, nil)
	for _, acks := range []kgo.Acks{kgo.NoAck(), kgo.LeaderAck(), kgo.AllISRAcks()} {
		write(client(kgo.RequiredAcks(acks), kgo.DisableIdempotentWrite()), "v")
	}
	read(client(from(kgo.NewOffset().AtStart())...), 3)
}

func seek() {
	create(topic, 1, nil)
	write(client(), "0", "1", "2", "3")
	got := read(client(from(kgo.NewOffset().At(2))...), 2)
	check(values(got) == "2 3", "at 2: %s", values(got))
	got = read(client(from(kgo.NewOffset().AtEnd().Relative(-1))...), 1)
	check(values(got) == "3", "one from the end: %s", values(got))
	// Beyond the end: reset to the start.
	options := append(from(kgo.NewOffset().At(99)), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	check(values(read(client(options...), 4)) == "0 1 2 3", "no reset")
}

func byTime() {
	admin := create(topic, 1, nil)
	start := time.Now().Add(-time.Hour).Truncate(time.Second)
	c := client()
	for i := range 5 {
		when := start.Add(time.Duration(i) * time.Minute)
		must(c.ProduceSync(ctx, &kgo.Record{Topic: topic, Timestamp: when}).FirstErr())
	}
	found, err := admin.ListOffsetsAfterMilli(ctx, start.Add(90*time.Second).UnixMilli(), topic)
	must(err)
	offset, _ := found.Lookup(topic, 0)
	check(offset.Offset == 2, "offset %d", offset.Offset)
	highest, err := admin.ListMaxTimestampOffsets(ctx, topic)
	must(err)
	offset, _ = highest.Lookup(topic, 0)
	check(offset.Offset == 4, "max timestamp at %d", offset.Offset)
}

func compacted() {
	policy := "compact"
	create(topic, 1, map[string]*string{"cleanup.policy": &policy})
	c := client(kgo.DisableIdempotentWrite())
	err := c.ProduceSync(ctx, &kgo.Record{Topic: topic, Value: []byte("no key")}).FirstErr()
	check(errors.Is(err, kerr.InvalidRecord), "got %v", err)
}

func topics() {
	admin := create(topic, 2, nil)
	_, err := admin.CreateTopic(ctx, 1, -1, nil, topic)
	check(errors.Is(err, kerr.TopicAlreadyExists), "twice: %v", err)
	_, err = admin.CreateTopic(ctx, 1, -1, nil, "bad/name")
	check(errors.Is(err, kerr.InvalidTopicException), "bad name: %v", err)
	_, err = admin.CreateTopic(ctx, 1, 9, nil, topic+"-9")
	check(errors.Is(err, kerr.InvalidReplicationFactor), "replication: %v", err)
	grown, err := admin.UpdatePartitions(ctx, 4, topic)
	must(err)
	must(grown.Error())
	waitFor("four partitions", func() bool {
		details, err := admin.ListTopics(ctx, topic)
		return err == nil && len(details[topic].Partitions) == 4
	})
	grown, err = admin.UpdatePartitions(ctx, 3, topic)
	must(err)
	check(errors.Is(grown.Error(), kerr.InvalidPartitions), "shrinking: %v", grown.Error())
}

func recreate() {
	admin := create(topic, 1, nil)
	write(client(), "old")
	details, err := admin.ListTopics(ctx, topic)
	must(err)
	first := details[topic].ID
	deleted, err := admin.DeleteTopics(ctx, topic)
	must(err)
	must(deleted.Error())
	admin = create(topic, 1, nil) // a new client: the old one remembers the metadata
	details, err = admin.ListTopics(ctx, topic)
	must(err)
	check(details[topic].ID != first, "the id is the same")
	write(client(), "new")
	check(values(read(client(from(kgo.NewOffset().AtStart())...), 1)) == "new", "old records")
}

func configs() {
	admin := create(topic, 1, nil)
	value, bad := "12345", "soon"
	set := kadm.AlterConfig{Op: kadm.SetConfig, Name: "retention.ms", Value: &value}
	altered, err := admin.AlterTopicConfigs(ctx, []kadm.AlterConfig{set}, topic)
	must(err)
	must(altered[0].Err)
	waitFor("the config", func() bool {
		found, err := admin.DescribeTopicConfigs(ctx, topic)
		must(err)
		for _, config := range found[0].Configs {
			if config.Key == "retention.ms" {
				return *config.Value == value
			}
		}
		return false
	})
	set.Value = &bad
	altered, err = admin.AlterTopicConfigs(ctx, []kadm.AlterConfig{set}, topic)
	must(err)
	check(errors.Is(altered[0].Err, kerr.InvalidConfig), "bad value: %v", altered[0].Err)
}

func deleteRecords() {
	admin := create(topic, 1, nil)
	write(client(), "0", "1", "2")
	var offsets kadm.Offsets
	offsets.AddOffset(topic, 0, 2, -1)
	deleted, err := admin.DeleteRecords(ctx, offsets)
	must(err)
	must(deleted.Error())
	starts, err := admin.ListStartOffsets(ctx, topic)
	must(err)
	start, _ := starts.Lookup(topic, 0)
	check(start.Offset == 2, "log start %d", start.Offset)
}

func cluster() {
	admin := create(topic, 1, nil)
	write(client(), "v")
	metadata, err := admin.BrokerMetadata(ctx)
	must(err)
	check(len(metadata.Brokers) >= nodes() && len(metadata.Cluster) == 22, "%+v", metadata)
	dirs, err := admin.DescribeAllLogDirs(ctx, nil)
	must(err)
	size, found := int64(0), false
	dirs.Each(func(dir kadm.DescribedLogDir) {
		if partition, ok := dir.Topics.Lookup(topic, 0); ok {
			size, found = partition.Size, true
		}
	})
	check(found && size > 60, "size %d", size)
	_, err = admin.ApiVersions(ctx)
	must(err)
}

func group(next context.Context) {
	create(topic, 3, nil)
	c := client()
	for i := range 30 {
		record := &kgo.Record{Topic: topic, Value: fmt.Append(nil, i), Key: fmt.Append(nil, i)}
		must(c.ProduceSync(ctx, record).FirstErr())
	}
	options := []kgo.Opt{
		kgo.WithContext(next), kgo.ConsumerGroup("group-" + topic), kgo.ConsumeTopics(topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.DisableAutoCommit(),
	}
	first := client(options...)
	seen := map[string]bool{}
	for _, record := range read(first, 30) {
		seen[string(record.Value)] = true
	}
	check(len(seen) == 30, "%d different records", len(seen))
	must(first.CommitUncommittedOffsets(ctx))
	first.Close()
	must(c.ProduceSync(ctx, &kgo.Record{Topic: topic, Value: []byte("after")}).FirstErr())
	second := client(options...)
	check(values(read(second, 1)) == "after", "it did not go on from its commit")
	second.Close()
}

func rebalance() {
	create(topic, 4, nil)
	shares := make([]map[int32]bool, 2)
	join := func(i int) *kgo.Client {
		shares[i] = map[int32]bool{}
		changed := func(gain bool) func(context.Context, *kgo.Client, map[string][]int32) {
			return func(_ context.Context, _ *kgo.Client, partitions map[string][]int32) {
				for _, partition := range partitions[topic] {
					if gain {
						shares[i][partition] = true
					} else {
						delete(shares[i], partition)
					}
				}
			}
		}
		return client(
			kgo.ConsumerGroup("group-"+topic), kgo.ConsumeTopics(topic),
			kgo.BlockRebalanceOnPoll(), kgo.HeartbeatInterval(200*time.Millisecond),
			kgo.OnPartitionsAssigned(changed(true)), kgo.OnPartitionsRevoked(changed(false)),
			kgo.OnPartitionsLost(changed(false)),
		)
	}
	poll := func(c *kgo.Client) {
		short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		defer cancel()
		c.PollFetches(short)
		c.AllowRebalance()
	}
	first := join(0)
	waitFor("the first has all", func() bool { poll(first); return len(shares[0]) == 4 })
	second := join(1)
	waitFor("they share", func() bool {
		poll(first)
		poll(second)
		return len(shares[0]) == 2 && len(shares[1]) == 2
	})
	second.AllowRebalance()
	second.CloseAllowingRebalance()
	waitFor("the first has all again", func() bool { poll(first); return len(shares[0]) == 4 })
	first.CloseAllowingRebalance()
}

func groupAdmin() {
	admin := create(topic, 1, nil)
	name := "group-" + topic
	var offsets kadm.Offsets
	offsets.AddOffset(topic, 0, 7, -1)
	must(admin.CommitAllOffsets(ctx, name, offsets))
	fetched, err := admin.FetchOffsets(ctx, name)
	must(err)
	found, ok := fetched.Lookup(topic, 0)
	check(ok && found.At == 7, "offset %d", found.At)
	listed, err := admin.ListGroups(ctx)
	must(err)
	_, ok = listed[name]
	check(ok, "not listed")
	described, err := admin.DescribeGroups(ctx, name)
	must(err)
	must(described.Error())
	check(described[name].State == "Empty", "state %s", described[name].State)
	deleted, err := admin.DeleteGroups(ctx, name)
	must(err)
	must(deleted.Error())
}

func transactions() {
	create(topic, 2, nil)
	c := client(kgo.TransactionalID("txn-" + topic))
	for i, commit := range []kgo.TransactionEndTry{kgo.TryCommit, kgo.TryAbort, kgo.TryCommit} {
		must(c.BeginTransaction())
		write(c, fmt.Sprint(i))
		must(c.EndTransaction(ctx, commit))
	}
	committed := kgo.FetchIsolationLevel(kgo.ReadCommitted())
	options := []kgo.Opt{kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart())}
	got := strings.Fields(values(read(client(append(options, committed)...), 2)))
	sort.Strings(got)
	check(strings.Join(got, " ") == "0 2", "committed: %v", got)
	read(client(options...), 3)
}

func exactlyOnce() {
	create(topic, 1, nil)
	create(topic+"-out", 1, nil)
	source := client()
	for i := range 40 {
		source.Produce(ctx, &kgo.Record{Topic: topic, Value: fmt.Append(nil, i)}, nil)
	}
	must(source.Flush(ctx))
	session, err := kgo.NewGroupTransactSession(
		kgo.SeedBrokers(broker), kgo.TransactionalID("txn-"+topic), kgo.ConsumerGroup("group-"+topic),
		kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.FetchMaxPartitionBytes(200),
		kgo.RequireStableFetchOffsets(),
	)
	must(err)
	for copied := 0; copied < 40; {
		records := session.PollRecords(ctx, 10).Records()
		must(session.Begin())
		for _, record := range records {
			session.Produce(ctx, &kgo.Record{Topic: topic + "-out", Value: record.Value}, nil)
		}
		done, err := session.End(ctx, kgo.TryCommit)
		must(err)
		if done {
			copied += len(records)
		}
	}
	session.Close()
	options := []kgo.Opt{
		kgo.ConsumeTopics(topic + "-out"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
	}
	for i, record := range read(client(options...), 40) {
		check(string(record.Value) == fmt.Sprint(i), "%s at %d", record.Value, i)
	}
}

// How many nodes the server has.
func nodes() int {
	count, err := strconv.Atoi(os.Getenv("COMPAT_NODES"))
	if err != nil {
		return 1
	}
	return count
}
