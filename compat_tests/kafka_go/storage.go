// What the log does with records, and what a fetch sees of it.
package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/segmentio/kafka-go"
)

func init() {
	tests["ordering"] = ordering
	tests["large"] = large
	tests["refusals"] = refusals
	tests["retention"] = retention
	tests["recompression"] = recompression
	tests["recreate"] = recreate
}

func entry(name, value string) kafka.ConfigEntry {
	return kafka.ConfigEntry{ConfigName: name, ConfigValue: value}
}

func first() *kafka.Reader {
	r := reader(kafka.ReaderConfig{Partition: 0, MaxBytes: 10_000_000})
	must(r.SetOffset(kafka.FirstOffset))
	return r
}

func same(got []kafka.Message, values []string) {
	check(len(got) == len(values), "%d records instead of %d", len(got), len(values))
	for i, message := range got {
		check(string(message.Value) == values[i], "%q at %d", message.Value, i)
	}
}

func batch(w *kafka.Writer, values ...string) {
	var messages []kafka.Message
	for _, value := range values {
		messages = append(messages, kafka.Message{Value: []byte(value)})
	}
	must(w.WriteMessages(ctx, messages...))
}

func waitFor(what string, holds func() bool) {
	for !holds() {
		check(ctx.Err() == nil, "never: %s", what)
		time.Sleep(100 * time.Millisecond)
	}
}

func bounds() (int64, int64) {
	asked := []kafka.OffsetRequest{kafka.FirstOffsetOf(0), kafka.LastOffsetOf(0)}
	found, err := client.ListOffsets(ctx, &kafka.ListOffsetsRequest{
		Topics: map[string][]kafka.OffsetRequest{topic: asked},
	})
	must(err)
	partition := found.Topics[topic][0]
	must(partition.Error)
	return partition.FirstOffset, partition.LastOffset
}

func ordering() {
	create(1)
	var values []string
	for i := range 1000 {
		values = append(values, fmt.Sprint(i))
	}
	batch(writer(), values...)
	same(read(first(), len(values)), values)
}

func large() {
	create(1, entry("max.message.bytes", "5000000"))
	w := writer()
	w.BatchBytes = 5_000_000
	value := strings.Repeat("x", 3_000_000)
	batch(w, value)
	same(read(first(), 1), []string{value})
}

func refusals() {
	create(1, entry("cleanup.policy", "compact"), entry("message.timestamp.before.max.ms", "1000"))
	keyless := kafka.Message{Value: []byte("v")}
	check(refused(keyless, "87"), "a record without a key was taken")
	old := kafka.Message{Key: []byte("k"), Value: []byte("v"), Time: time.Unix(1234567, 0)}
	check(refused(old, kafka.InvalidTimestamp.Error()), "an old record was taken")
	must(writer().WriteMessages(ctx, kafka.Message{Key: []byte("k"), Value: []byte("good")}))
	same(read(first(), 1), []string{"good"})
}

func refused(message kafka.Message, with string) bool {
	err := writer().WriteMessages(ctx, message)
	var all kafka.WriteErrors
	if errors.As(err, &all) {
		err = all[0]
	}
	return err != nil && strings.Contains(err.Error(), with)
}

func retention() {
	create(1, entry("retention.bytes", "1000"), entry("segment.bytes", "1048576"))
	w := writer()
	for range 5 {
		batch(w, strings.Repeat("x", 600_000))
	}
	waitFor("the log start moves", func() bool {
		oldest, end := bounds()
		return oldest == 4 && end == 5
	})
}

func recompression() {
	create(1, entry("compression.type", "gzip"))
	w := writer()
	w.Compression = kafka.Zstd
	value := strings.Repeat("compress me ", 100)
	batch(w, value, value)
	same(read(first(), 2), []string{value, value})
}

func recreate() {
	create(1)
	batch(writer(), "old", "old")
	deleted, err := client.DeleteTopics(ctx, &kafka.DeleteTopicsRequest{Topics: []string{topic}})
	must(err)
	must(deleted.Errors[topic])
	create(1)
	waitFor("it is empty", func() bool {
		_, end := bounds()
		return end == 0
	})
	batch(writer(), "new")
	same(read(first(), 1), []string{"new"})
}
