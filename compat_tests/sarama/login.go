// `sarama login ORDER`: twenty records there and back, as somebody, perhaps over TLS.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"time"

	"github.com/IBM/sarama"
	"github.com/xdg-go/scram"
)

const loginRecords = 20

// Of a login; what is not needed is empty.
type loginOrder struct {
	Bootstrap, Topic, Mechanism, User, Password, Token, Authority, Certificate, Key string
}

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

func login(asked loginOrder) {
	config := asked.config()
	addresses := []string{asked.Bootstrap}
	producer, err := sarama.NewSyncProducer(addresses, config)
	must(err)
	for n := 0; n < loginRecords; n++ {
		message := &sarama.ProducerMessage{Topic: asked.Topic, Value: sarama.StringEncoder(fmt.Sprint(n))}
		_, _, err := producer.SendMessage(message)
		must(err)
	}
	must(producer.Close())
	consumer, err := sarama.NewConsumer(addresses, config)
	must(err)
	partition, err := consumer.ConsumePartition(asked.Topic, 0, sarama.OffsetOldest)
	must(err)
	for got := 0; got < loginRecords; got++ {
		select {
		case <-partition.Messages():
		case <-time.After(15 * time.Second):
			fail("only %d records came", got)
		}
	}
	must(partition.Close())
	must(consumer.Close())
}

func (asked loginOrder) config() *sarama.Config {
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
	if asked.Authority != "" {
		config.Net.TLS.Enable = true
		config.Net.TLS.Config = asked.tls()
	}
	return config
}

func (asked loginOrder) tls() *tls.Config {
	pem, err := os.ReadFile(asked.Authority)
	must(err)
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(pem)
	config := &tls.Config{RootCAs: trusted}
	if asked.Certificate != "" {
		own, err := tls.LoadX509KeyPair(asked.Certificate, asked.Key)
		must(err)
		config.Certificates = []tls.Certificate{own}
	}
	return config
}
