// `franz_go login ORDER`: twenty records there and back, as somebody, perhaps over TLS.
package main

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"kafkapy/compat/go_clients"
)

func login(asked go_clients.Login) {
	within, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	given := append(loginOptions(asked), kgo.SeedBrokers(asked.Bootstrap),
		kgo.ConsumeTopics(asked.Topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	client, err := kgo.NewClient(given...)
	must(err)
	defer client.Close()
	must(client.Ping(within))
	for n := 0; n < go_clients.LoginRecords; n++ {
		record := &kgo.Record{Topic: asked.Topic, Value: []byte(fmt.Sprint(n))}
		must(client.ProduceSync(within, record).FirstErr())
	}
	for got := 0; got < go_clients.LoginRecords; {
		fetched := client.PollFetches(within)
		must(fetched.Err())
		got += fetched.NumRecords()
	}
}

func loginOptions(asked go_clients.Login) []kgo.Opt {
	var options []kgo.Opt
	salted := scram.Auth{User: asked.User, Pass: asked.Password, IsToken: asked.IsToken}
	switch asked.Mechanism {
	case "PLAIN":
		options = append(options, kgo.SASL(plain.Auth{User: asked.User, Pass: asked.Password}.AsMechanism()))
	case "SCRAM-SHA-256":
		options = append(options, kgo.SASL(salted.AsSha256Mechanism()))
	case "SCRAM-SHA-512":
		options = append(options, kgo.SASL(salted.AsSha512Mechanism()))
	case "OAUTHBEARER":
		options = append(options, kgo.SASL(oauth.Auth{Token: asked.Token}.AsMechanism()))
	}
	if trusting := asked.TLS(); trusting != nil {
		options = append(options, kgo.DialTLSConfig(trusting))
	}
	return options
}
