// `franz_go login ORDER`: twenty records there and back, as somebody, perhaps over TLS.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

const loginRecords = 20

// Of a login; what is not needed is empty.
type loginOrder struct {
	Bootstrap, Topic, Mechanism, User, Password, Token, Authority, Certificate, Key string
}

func login(asked loginOrder) {
	within, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	options := append(asked.options(), kgo.SeedBrokers(asked.Bootstrap),
		kgo.ConsumeTopics(asked.Topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	client, err := kgo.NewClient(options...)
	must(err)
	defer client.Close()
	must(client.Ping(within))
	for n := 0; n < loginRecords; n++ {
		record := &kgo.Record{Topic: asked.Topic, Value: []byte(fmt.Sprint(n))}
		must(client.ProduceSync(within, record).FirstErr())
	}
	for got := 0; got < loginRecords; {
		fetched := client.PollFetches(within)
		must(fetched.Err())
		got += fetched.NumRecords()
	}
}

func (asked loginOrder) options() []kgo.Opt {
	var options []kgo.Opt
	switch asked.Mechanism {
	case "PLAIN":
		options = append(options, kgo.SASL(plain.Auth{User: asked.User, Pass: asked.Password}.AsMechanism()))
	case "SCRAM-SHA-256":
		options = append(options, kgo.SASL(scram.Auth{User: asked.User, Pass: asked.Password}.AsSha256Mechanism()))
	case "SCRAM-SHA-512":
		options = append(options, kgo.SASL(scram.Auth{User: asked.User, Pass: asked.Password}.AsSha512Mechanism()))
	case "OAUTHBEARER":
		options = append(options, kgo.SASL(oauth.Auth{Token: asked.Token}.AsMechanism()))
	}
	if asked.Authority != "" {
		options = append(options, kgo.DialTLSConfig(asked.tls()))
	}
	return options
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
