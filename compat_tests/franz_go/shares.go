// Share groups (KIP-932): accepted, released, rejected and renewed records; two members.
package main

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

var mutex sync.Mutex

func init() {
	tests["share"] = share
	tests["share-again"] = shareAgain
	tests["share-two"] = shareTwo
}

// The group's own settings: there is nothing a consumer could say.
func beginAtTheStart() {
	request := kmsg.NewIncrementalAlterConfigsRequest()
	resource := kmsg.NewIncrementalAlterConfigsRequestResource()
	resource.ResourceType = kmsg.ConfigResourceTypeGroupConfig
	resource.ResourceName = topic
	config := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
	config.Name = "share.auto.offset.reset"
	config.Value = kmsg.StringPtr("earliest")
	resource.Configs = append(resource.Configs, config)
	request.Resources = append(request.Resources, resource)
	answer, err := request.RequestWith(ctx, client())
	must(err)
	check(answer.Resources[0].ErrorCode == 0, "the group's settings: %v", answer.Resources[0])
}

func numbers(count int) []string {
	var found []string
	for at := range count {
		found = append(found, strconv.Itoa(at))
	}
	return found
}

func shareMember() *kgo.Client {
	return client(kgo.ConsumeTopics(topic), kgo.ShareGroup(topic))
}

func shared(count int) {
	create(topic, 1, nil)
	beginAtTheStart()
	write(client(), numbers(count)...)
}

// All that is written comes, once, and does not come to a member that joins later.
func share() {
	shared(50)
	first := shareMember()
	records := read(first, 50)
	check(values(records) == strings.Join(numbers(50), " "), "not all, in their order")
	first.MarkAcks(kgo.AckAccept, records...)
	must(first.FlushAcks(ctx))
	first.Close()
	write(client(), "late")
	second := shareMember()
	check(values(read(second, 1)) == "late", "what was accepted came again")
	second.Close()
}

// A released record comes again, a second time; a rejected one does not; a renewed one is kept.
func shareAgain() {
	shared(3)
	one := shareMember()
	defer one.Close()
	records := read(one, 3)
	one.MarkAcks(kgo.AckRelease, records[0])
	one.MarkAcks(kgo.AckReject, records[1])
	one.MarkAcks(kgo.AckRenew, records[2])
	must(one.FlushAcks(ctx))
	one.MarkAcks(kgo.AckAccept, records[2])
	must(one.FlushAcks(ctx))
	again := read(one, 1)
	check(values(again) == "0", "it was another one that came again: %v", values(again))
	check(again[0].DeliveryCount() == 2, "it came %d times", again[0].DeliveryCount())
	one.MarkAcks(kgo.AckAccept, again...)
	must(one.FlushAcks(ctx))
	soon, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	check(one.PollFetches(soon).NumRecords() == 0, "something came again")
}

// What one of two members has, the other does not get.
func shareTwo() {
	shared(100)
	one, other := shareMember(), shareMember()
	found := map[string]int{}
	for _, member := range []*kgo.Client{one, other} {
		go func() {
			for {
				fetches := member.PollFetches(ctx)
				if fetches.IsClientClosed() {
					return
				}
				mutex.Lock()
				for _, record := range fetches.Records() {
					found[string(record.Value)]++
				}
				mutex.Unlock()
			}
		}()
	}
	waitFor("all records", func() bool {
		mutex.Lock()
		defer mutex.Unlock()
		return len(found) == 100
	})
	one.Close()
	other.Close()
	for value, count := range found {
		check(count == 1, "%s came %d times", value, count)
	}
}
