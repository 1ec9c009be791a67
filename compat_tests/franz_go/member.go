// A member of a group (../members/README.md): `franz_go member '{"broker": ..., ...}'`.
package main

import (
	"context"
	"encoding/json"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

type order struct {
	Broker    string   `json:"broker"`
	Group     string   `json:"group"`
	Protocol  string   `json:"protocol"`
	Assignor  string   `json:"assignor"`
	Instance  string   `json:"instance"`
	Topics    []string `json:"topics"`
	Pattern   string   `json:"pattern"`
	SessionMs int      `json:"session_ms"`
}

type facts map[string]any

var telling sync.Mutex

func tell(said facts) {
	telling.Lock()
	defer telling.Unlock()
	must(json.NewEncoder(os.Stdout).Encode(said))
}

func tellPartitions(event string, partitions map[string][]int32) {
	listed := [][]any{}
	for topic, numbers := range partitions {
		for _, number := range numbers {
			listed = append(listed, []any{topic, number})
		}
	}
	tell(facts{"e": event, "partitions": listed})
}

func member(asked order) {
	running, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	c, err := kgo.NewClient(options(asked)...)
	must(err)
	for running.Err() == nil {
		readOnce(running, c)
	}
	// Static members stay; CloseAllowingRebalance leaves for the others.
	c.CloseAllowingRebalance()
	tell(facts{"e": "closed"})
}

func options(asked order) []kgo.Opt {
	tells := func(event string) func(context.Context, *kgo.Client, map[string][]int32) {
		return func(_ context.Context, _ *kgo.Client, partitions map[string][]int32) {
			tellPartitions(event, partitions)
		}
	}
	found := []kgo.Opt{
		kgo.SeedBrokers(asked.Broker),
		kgo.ConsumerGroup(asked.Group),
		kgo.DisableAutoCommit(),
		kgo.BlockRebalanceOnPoll(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchMaxWait(100 * time.Millisecond),
		kgo.MetadataMaxAge(500 * time.Millisecond),
		kgo.MetadataMinAge(100 * time.Millisecond),
		kgo.SessionTimeout(time.Duration(asked.SessionMs) * time.Millisecond),
		kgo.HeartbeatInterval(300 * time.Millisecond),
		kgo.OnPartitionsAssigned(tells("assigned")),
		kgo.OnPartitionsRevoked(tells("revoked")),
		kgo.OnPartitionsLost(tells("revoked")),
	}
	if asked.Assignor == "eager" {
		found = append(found, kgo.Balancers(kgo.RangeBalancer()))
	}
	if asked.Protocol == "consumer" {
		next := context.WithValue(context.Background(), "opt_in_kafka_next_gen_balancer_beta", true)
		found = append(found, kgo.WithContext(next))
	}
	if asked.Instance != "" {
		found = append(found, kgo.InstanceID(asked.Instance))
	}
	if asked.Pattern != "" {
		return append(found, kgo.ConsumeRegex(), kgo.ConsumeTopics(asked.Pattern))
	}
	return append(found, kgo.ConsumeTopics(asked.Topics...))
}

func readOnce(running context.Context, c *kgo.Client) {
	defer c.AllowRebalance()
	polling, done := context.WithTimeout(running, 100*time.Millisecond)
	defer done()
	fetches := c.PollFetches(polling)
	offsets := map[string]map[int32]kgo.EpochOffset{}
	committed := [][]any{}
	fetches.EachPartition(func(p kgo.FetchTopicPartition) {
		for _, record := range p.Records {
			tell(facts{"e": "record", "t": record.Topic, "p": record.Partition,
				"o": record.Offset, "v": string(record.Value)})
		}
		if count := len(p.Records); count > 0 {
			last := p.Records[count-1]
			if offsets[p.Topic] == nil {
				offsets[p.Topic] = map[int32]kgo.EpochOffset{}
			}
			next := kgo.EpochOffset{Epoch: last.LeaderEpoch, Offset: last.Offset + 1}
			offsets[p.Topic][p.Partition] = next
			committed = append(committed, []any{p.Topic, p.Partition, next.Offset})
		}
	})
	if len(committed) == 0 {
		return
	}
	// Not `running`: what was read is committed also when this member is to end.
	committing, finish := context.WithTimeout(context.Background(), 30*time.Second)
	defer finish()
	if err := commit(committing, c, offsets); err != nil {
		tell(facts{"e": "failed", "why": err.Error()})
		return
	}
	tell(facts{"e": "committed", "offsets": committed})
}

func commit(ctx context.Context, c *kgo.Client, offsets map[string]map[int32]kgo.EpochOffset) error {
	var failed error
	c.CommitOffsetsSync(ctx, offsets, func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest,
		answer *kmsg.OffsetCommitResponse, err error) {
		failed = err
		if answer == nil {
			return
		}
		for _, topic := range answer.Topics {
			for _, partition := range topic.Partitions {
				if failed == nil {
					failed = kerr.ErrorForCode(partition.ErrorCode)
				}
			}
		}
	})
	return failed
}
