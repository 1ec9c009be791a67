// `sarama login ORDER`: twenty records there and back, as somebody, perhaps over TLS.
package main

import (
	"fmt"
	"time"

	"github.com/IBM/sarama"
	"github.com/xdg-go/scram"

	"kafkapy/compat/go_clients"
)

// sarama has SCRAM done by somebody else.
type conversation struct {
	hash scram.HashGeneratorFcn
	*scram.ClientConversation
}

func (own *conversation) Begin(user, password, authzID string) error {
	client, err := own.hash.NewClient(user, password, authzID)
	if err == nil {
		own.ClientConversation = client.NewConversation()
	}
	return err
}

// A token that somebody else has fetched.
type bearer string

func (own bearer) Token() (*sarama.AccessToken, error) {
	return &sarama.AccessToken{Token: string(own)}, nil
}

func login(asked go_clients.Login) {
	config := loginConfig(asked)
	addresses := []string{asked.Bootstrap}
	producer, err := sarama.NewSyncProducer(addresses, config)
	must(err)
	for n := 0; n < go_clients.LoginRecords; n++ {
		message := &sarama.ProducerMessage{Topic: asked.Topic, Value: sarama.StringEncoder(fmt.Sprint(n))}
		_, _, err := producer.SendMessage(message)
		must(err)
	}
	must(producer.Close())
	consumer, err := sarama.NewConsumer(addresses, config)
	must(err)
	partition, err := consumer.ConsumePartition(asked.Topic, 0, sarama.OffsetOldest)
	must(err)
	for got := 0; got < go_clients.LoginRecords; got++ {
		select {
		case <-partition.Messages():
		case <-time.After(15 * time.Second):
			fail("only %d records came", got)
		}
	}
	must(partition.Close())
	must(consumer.Close())
}

func loginConfig(asked go_clients.Login) *sarama.Config {
	config := sarama.NewConfig()
	config.Version = sarama.V2_8_0_0
	config.Producer.Return.Successes = true
	config.Metadata.Retry.Max = 1
	config.Net.DialTimeout = 10 * time.Second
	if asked.Mechanism != "" {
		config.Net.SASL.Enable = true
		config.Net.SASL.Mechanism = sarama.SASLMechanism(asked.Mechanism)
		config.Net.SASL.User, config.Net.SASL.Password = asked.User, asked.Password
	}
	switch asked.Mechanism {
	case "SCRAM-SHA-256":
		config.Net.SASL.SCRAMClientGeneratorFunc = func() sarama.SCRAMClient {
			return &conversation{hash: scram.SHA256}
		}
	case "SCRAM-SHA-512":
		config.Net.SASL.SCRAMClientGeneratorFunc = func() sarama.SCRAMClient {
			return &conversation{hash: scram.SHA512}
		}
	case "OAUTHBEARER":
		config.Net.SASL.TokenProvider = bearer(asked.Token)
	}
	config.Net.TLS.Config = asked.TLS()
	config.Net.TLS.Enable = config.Net.TLS.Config != nil
	return config
}
