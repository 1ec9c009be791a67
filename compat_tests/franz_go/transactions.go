// Transactions the implicit way: fencing, timeouts, fifty partitions, copies with aborts.
package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

const fifty = 50

func init() {
	tests["txn-fencing"] = txnFencing
	tests["txn-timeout"] = txnTimeout
	tests["txn-fifty"] = txnFifty
	tests["txn-copy"] = txnCopy
}

func transactional(options ...kgo.Opt) *kgo.Client {
	return client(append([]kgo.Opt{kgo.TransactionalID("txn-" + topic)}, options...)...)
}

func reader(topic string, level kgo.IsolationLevel) *kgo.Client {
	return client(
		kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(level),
	)
}

// A second producer with the id takes over: what the first has open is aborted.
func txnFencing() {
	create(topic, 1, nil)
	first := transactional()
	must(first.BeginTransaction())
	write(first, "zombie")
	second := transactional()
	must(second.BeginTransaction())
	write(second, "living")
	must(second.EndTransaction(ctx, kgo.TryCommit))
	err := first.EndTransaction(ctx, kgo.TryCommit)
	fenced := errors.Is(err, kerr.ProducerFenced) || errors.Is(err, kerr.InvalidProducerEpoch)
	check(fenced, "the first may commit: %v", err)
	check(values(read(reader(topic, kgo.ReadCommitted()), 1)) == "living", "not only the living")
	check(values(read(reader(topic, kgo.ReadUncommitted()), 2)) == "zombie living", "not both")
}

// What takes too long is aborted by the coordinator, and holds nobody back any more.
func txnTimeout() {
	create(topic, 1, nil)
	slow := transactional(kgo.TransactionTimeout(time.Second))
	must(slow.BeginTransaction())
	write(slow, "too slow")
	write(client(), "plain")
	check(values(read(reader(topic, kgo.ReadCommitted()), 1)) == "plain", "not only the plain one")
	err := slow.EndTransaction(ctx, kgo.TryCommit)
	check(err != nil, "it was committed after all")
}

// Transactions over fifty partitions, every third of them aborted.
func txnFifty() {
	create(topic, fifty, nil)
	c := transactional(kgo.RecordPartitioner(kgo.ManualPartitioner()))
	const rounds = 6
	for round := range rounds {
		must(c.BeginTransaction())
		for i := range 2 * fifty {
			value := fmt.Append(nil, round)
			c.Produce(ctx, &kgo.Record{Topic: topic, Partition: int32(i % fifty), Value: value}, nil)
		}
		must(c.Flush(ctx))
		must(c.EndTransaction(ctx, kgo.TransactionEndTry(round%3 != 2)))
	}
	inOrder(reader(topic, kgo.ReadCommitted()), 2*fifty*4, "0 0 1 1 3 3 4 4 ")
	inOrder(reader(topic, kgo.ReadUncommitted()), 2*fifty*rounds, "0 0 1 1 2 2 3 3 4 4 5 5 ")
}

func inOrder(c *kgo.Client, count int, expected string) {
	got := make([]string, fifty)
	for _, record := range read(c, count) {
		got[record.Partition] += string(record.Value) + " "
	}
	for partition, values := range got {
		check(values == expected, "partition %d: %s", partition, values)
	}
}

// Input to output with the offsets in the transaction; every third transaction is aborted,
// and in the middle another session with the same id takes over.
func txnCopy() {
	create(topic, 1, nil)
	create(topic+"-out", 1, nil)
	const count = 60
	source := client()
	for i := range count {
		source.Produce(ctx, &kgo.Record{Topic: topic, Value: fmt.Append(nil, i)}, nil)
	}
	must(source.Flush(ctx))
	copied := copySome(0, count/2)
	copied = copySome(copied, count)
	check(copied == count, "%d copied", copied)
	for i, record := range read(reader(topic+"-out", kgo.ReadCommitted()), count) {
		check(string(record.Value) == fmt.Sprint(i), "%s at %d", record.Value, i)
	}
}

func copySome(copied, upto int) int {
	session, err := kgo.NewGroupTransactSession(
		kgo.SeedBrokers(broker), kgo.TransactionalID("txn-"+topic), kgo.ConsumerGroup("group-"+topic),
		kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.RequireStableFetchOffsets(),
	)
	must(err)
	defer session.Close()
	for turn := 1; copied < upto; turn++ {
		short, cancel := context.WithTimeout(ctx, 5*time.Second)
		records := session.PollRecords(short, 10).Records()
		cancel()
		must(session.Begin())
		for _, record := range records {
			session.Produce(ctx, &kgo.Record{Topic: topic + "-out", Value: record.Value}, nil)
		}
		done, err := session.End(ctx, kgo.TransactionEndTry(turn%3 != 0))
		must(err)
		if done {
			copied += len(records)
		}
	}
	return copied
}
