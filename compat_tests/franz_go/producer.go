// A producer under steady load (../chaos/README.md): `franz_go produce BROKER TOPIC PARTITIONS PER_SECOND`.
package main

import (
	"context"
	"fmt"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func say(format string, values ...any) {
	telling.Lock()
	defer telling.Unlock()
	fmt.Printf(format+"\n", values...)
}

func produce(broker, topic string, partitions, perSecond int) {
	running, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	c, err := kgo.NewClient(
		kgo.SeedBrokers(strings.Split(broker, ",")...),
		kgo.DefaultProduceTopic(topic),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
	)
	must(err)
	began := time.Now()
	for count := 0; running.Err() == nil; {
		if float64(count) < time.Since(began).Seconds()*float64(perSecond) {
			sendOne(c, int32(count%partitions), count/partitions)
			count++
		} else {
			time.Sleep(2 * time.Millisecond)
		}
	}
	must(c.Flush(context.Background()))
	c.Close()
	say("closed")
}

func sendOne(c *kgo.Client, partition int32, number int) {
	say("sent %d %d", partition, number)
	record := &kgo.Record{Partition: partition, Value: []byte(strconv.Itoa(number))}
	c.Produce(context.Background(), record, func(done *kgo.Record, problem error) {
		if problem != nil {
			say("failed %d %d %v", partition, number, problem)
			return
		}
		say("acked %d %d %d %d", partition, number, done.Offset, time.Now().UnixMilli())
	})
}

func number(text string) int {
	found, err := strconv.Atoi(text)
	must(err)
	return found
}
