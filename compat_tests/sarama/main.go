// Behaviours through sarama: `sarama HOST:PORT TEST TOPIC` exits 0 or says what is wrong.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/IBM/sarama"

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
	"acks":           acks,
	"too-large":      tooLarge,
	"seek":           seek,
	"by-time":        byTime,
	"topics":         topics,
	"configs":        configs,
	"delete-records": deleteRecords,
	"cluster":        cluster,
	"group":          group,
	"group-admin":    groupAdmin,
	"transactions":   transactions,
}

func main() {
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

func config() *sarama.Config {
	config := sarama.NewConfig()
	config.Version = sarama.MaxVersion
	config.Producer.Return.Successes = true
	config.Producer.RequiredAcks = sarama.WaitForAll
	// Three times in a third of a second is sarama's habit: a leader may take longer to move.
	config.Producer.Retry.Max = 30
	if os.Getenv("COMPAT_DISTURBED") != "" {
		// Otherwise a batch whose answer was lost may be there twice.
		config.Producer.Idempotent = true
		config.Net.MaxOpenRequests = 1
	}
	config.Producer.Partitioner = sarama.NewManualPartitioner
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Enable = false
	config.Consumer.Group.Heartbeat.Interval = 200 * time.Millisecond
	return config
}

func admin() sarama.ClusterAdmin {
	admin, err := sarama.NewClusterAdmin([]string{broker}, config())
	must(err)
	return admin
}

func create(partitions int32, entries map[string]*string) {
	detail := &sarama.TopicDetail{
		NumPartitions: partitions, ReplicationFactor: 1, ConfigEntries: entries,
	}
	must(admin().CreateTopic(topic, detail, false))
	client, err := sarama.NewClient([]string{broker}, config())
	must(err)
	for {
		_, err := client.GetOffset(topic, partitions-1, sarama.OffsetNewest)
		if err == nil {
			return
		}
		check(ctx.Err() == nil, "no leaders: %v", err)
		time.Sleep(20 * time.Millisecond)
	}
}

func producer(change func(*sarama.Config)) sarama.SyncProducer {
	settings := config()
	if change != nil {
		change(settings)
	}
	p, err := sarama.NewSyncProducer([]string{broker}, settings)
	must(err)
	return p
}

func write(p sarama.SyncProducer, values ...string) {
	for _, value := range values {
		_, _, err := p.SendMessage(message(value))
		must(err)
	}
}

func message(value string) *sarama.ProducerMessage {
	return &sarama.ProducerMessage{Topic: topic, Value: sarama.StringEncoder(value)}
}

func read(offset int64, count int, change func(*sarama.Config)) []*sarama.ConsumerMessage {
	settings := config()
	if change != nil {
		change(settings)
	}
	consumer, err := sarama.NewConsumer([]string{broker}, settings)
	must(err)
	partition, err := consumer.ConsumePartition(topic, 0, offset)
	must(err)
	var got []*sarama.ConsumerMessage
	for len(got) < count {
		select {
		case message := <-partition.Messages():
			got = append(got, message)
		case <-ctx.Done():
			fail("%d records of %d", len(got), count)
		}
	}
	return got
}

func codecs() {
	create(1, nil)
	value := string(bytes.Repeat([]byte("compress me "), 100))
	kinds := []sarama.CompressionCodec{
		sarama.CompressionNone, sarama.CompressionGZIP, sarama.CompressionSnappy,
		sarama.CompressionLZ4, sarama.CompressionZSTD,
	}
	for _, kind := range kinds {
		write(producer(func(c *sarama.Config) { c.Producer.Compression = kind }), value, value)
	}
	for _, got := range read(sarama.OffsetOldest, 10, nil) {
		check(string(got.Value) == value, "another record at %d", got.Offset)
	}
}

func headers() {
	create(1, nil)
	sent := []sarama.RecordHeader{{Key: []byte("b"), Value: []byte("1")}, {Key: []byte("a")}}
	m := message("v")
	m.Headers = sent
	_, _, err := producer(nil).SendMessage(m)
	must(err)
	got := read(0, 1, nil)[0]
	check(got.Key == nil, "a key of %q", got.Key)
	check(len(got.Headers) == 2 && string(got.Headers[0].Value) == "1", "%v", got.Headers)
}

func acks() {
	create(1, nil)
	for _, acks := range []sarama.RequiredAcks{sarama.NoResponse, sarama.WaitForLocal, sarama.WaitForAll} {
		write(producer(func(c *sarama.Config) { c.Producer.RequiredAcks = acks }), "v")
	}
	idempotent := producer(func(c *sarama.Config) {
		c.Producer.Idempotent = true
		c.Net.MaxOpenRequests = 1
	})
	write(idempotent, "1", "2", "3")
	read(0, 6, nil)
}

func tooLarge() {
	limit := "5000"
	create(1, map[string]*string{"max.message.bytes": &limit})
	p := producer(nil)
	_, _, err := p.SendMessage(message(string(make([]byte, 9000))))
	check(errors.Is(err, sarama.ErrMessageSizeTooLarge), "got %v", err)
	write(p, "small")
}

func seek() {
	create(1, nil)
	write(producer(nil), "0", "1", "2", "3")
	check(string(read(2, 2, nil)[0].Value) == "2", "not at 2")
	consumer, err := sarama.NewConsumer([]string{broker}, config())
	must(err)
	_, err = consumer.ConsumePartition(topic, 0, 99)
	check(errors.Is(err, sarama.ErrOffsetOutOfRange), "out of range: %v", err)
}

func byTime() {
	create(1, nil)
	start := time.Now().Add(-time.Hour).Truncate(time.Second)
	p := producer(nil)
	for i := range 5 {
		m := message("v")
		m.Timestamp = start.Add(time.Duration(i) * time.Minute)
		_, _, err := p.SendMessage(m)
		must(err)
	}
	client, err := sarama.NewClient([]string{broker}, config())
	must(err)
	offset, err := client.GetOffset(topic, 0, start.Add(90*time.Second).UnixMilli())
	must(err)
	check(offset == 2, "offset %d", offset)
	newest, err := client.GetOffset(topic, 0, sarama.OffsetNewest)
	must(err)
	check(newest == 5, "end %d", newest)
}

func topics() {
	create(2, nil)
	a := admin()
	detail := &sarama.TopicDetail{NumPartitions: 1, ReplicationFactor: 1}
	err := a.CreateTopic(topic, detail, false)
	check(errors.Is(err, sarama.ErrTopicAlreadyExists), "twice: %v", err)
	err = a.CreateTopic("bad/name", detail, false)
	check(errors.Is(err, sarama.ErrInvalidTopic), "bad name: %v", err)
	must(a.CreatePartitions(topic, 4, nil, false))
	listed, err := a.ListTopics()
	must(err)
	_, there := listed[topic]
	check(there, "not listed")
	must(a.DeleteTopic(topic))
	err = a.DeleteTopic(topic)
	check(errors.Is(err, sarama.ErrUnknownTopicOrPartition), "gone: %v", err)
}

func configs() {
	create(1, nil)
	a := admin()
	value := "12345"
	entries := map[string]sarama.IncrementalAlterConfigsEntry{
		"retention.ms": {Operation: sarama.IncrementalAlterConfigsOperationSet, Value: &value},
	}
	must(a.IncrementalAlterConfig(sarama.TopicResource, topic, entries, false))
	resource := sarama.ConfigResource{
		Type: sarama.TopicResource, Name: topic, ConfigNames: []string{"retention.ms"},
	}
	for {
		found, err := a.DescribeConfig(resource)
		must(err)
		check(len(found) == 1 && ctx.Err() == nil, "%v", found)
		if found[0].Value == value {
			return
		}
	}
}

func deleteRecords() {
	create(1, nil)
	write(producer(nil), "0", "1", "2")
	must(admin().DeleteRecords(topic, map[int32]int64{0: 2}))
	client, err := sarama.NewClient([]string{broker}, config())
	must(err)
	oldest, err := client.GetOffset(topic, 0, sarama.OffsetOldest)
	must(err)
	check(oldest == 2, "log start %d", oldest)
}

func cluster() {
	create(1, nil)
	brokers, controller, err := admin().DescribeCluster()
	must(err)
	check(len(brokers) >= nodes(), "%v", brokers)
	knows := func(one *sarama.Broker) bool { return one.ID() == controller }
	check(slices.ContainsFunc(brokers, knows), "%v, %d", brokers, controller)
	dirs, err := admin().DescribeLogDirs([]int32{controller})
	must(err)
	check(len(dirs[controller]) == 1, "%v", dirs)
}

type handler struct {
	want int
	mu   sync.Mutex
	got  []string
	done context.CancelFunc
}

func (h *handler) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (h *handler) Cleanup(sarama.ConsumerGroupSession) error { return nil }
func (h *handler) ConsumeClaim(s sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for {
		select {
		case m := <-claim.Messages():
			if m == nil {
				return nil
			}
			s.MarkMessage(m, "")
			h.mu.Lock()
			h.got = append(h.got, string(m.Value))
			enough := len(h.got) == h.want
			h.mu.Unlock()
			if enough {
				s.Commit()
				h.done()
			}
		case <-s.Context().Done():
			return nil
		}
	}
}

func consume(count int) []string {
	member, err := sarama.NewConsumerGroup([]string{broker}, "group-"+topic, config())
	must(err)
	until, done := context.WithCancel(ctx)
	h := &handler{want: count, done: done}
	for until.Err() == nil {
		must(member.Consume(until, []string{topic}, h))
	}
	must(member.Close())
	check(len(h.got) == count, "%d records of %d", len(h.got), count)
	return h.got
}

func group() {
	create(2, nil)
	write(producer(nil), "1", "2", "3")
	consume(3)
	write(producer(nil), "after")
	check(consume(1)[0] == "after", "it did not go on from its commit")
}

func groupAdmin() {
	group()
	a := admin()
	name := "group-" + topic
	listed, err := a.ListConsumerGroups()
	must(err)
	_, there := listed[name]
	check(there, "not listed")
	described, err := a.DescribeConsumerGroups([]string{name})
	must(err)
	check(described[0].State == "Empty", "state %s", described[0].State)
	offsets, err := a.ListConsumerGroupOffsets(name, map[string][]int32{topic: {0}})
	must(err)
	check(offsets.GetBlock(topic, 0).Offset == 4, "offset %d", offsets.GetBlock(topic, 0).Offset)
	must(a.DeleteConsumerGroup(name))
}

func transactions() {
	create(1, nil)
	p := producer(func(c *sarama.Config) {
		c.Producer.Idempotent = true
		c.Producer.Transaction.ID = "txn-" + topic
		c.Net.MaxOpenRequests = 1
	})
	for i, commits := range []bool{true, false, true} {
		must(p.BeginTxn())
		write(p, fmt.Sprint(i))
		if commits {
			must(p.CommitTxn())
		} else {
			must(p.AbortTxn())
		}
	}
	committed := func(c *sarama.Config) { c.Consumer.IsolationLevel = sarama.ReadCommitted }
	got := read(0, 2, committed)
	check(string(got[0].Value)+string(got[1].Value) == "02", "%s %s", got[0].Value, got[1].Value)
	read(0, 3, nil)
}

// How many nodes the server has.
func nodes() int {
	count, err := strconv.Atoi(os.Getenv("COMPAT_NODES"))
	if err != nil {
		return 1
	}
	return count
}
