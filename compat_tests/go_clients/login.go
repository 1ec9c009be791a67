package go_clients

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"os"
)

// LoginRecords go there and back.
const LoginRecords = 20

// Login is an order to log in; what is not needed is empty.
type Login struct {
	Bootstrap, Topic, Mechanism, User, Password, Token, Authority, Certificate, Key string
	// User and Password are those of a delegation token.
	IsToken bool
}

// LoginOf reads an order as JSON.
func LoginOf(text string) Login {
	var asked Login
	Must(json.Unmarshal([]byte(text), &asked))
	return asked
}

// TLS trusts the authority alone; nil where there is none, and no TLS.
func (asked Login) TLS() *tls.Config {
	if asked.Authority == "" {
		return nil
	}
	pem, err := os.ReadFile(asked.Authority)
	Must(err)
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(pem)
	config := &tls.Config{RootCAs: trusted}
	if asked.Certificate != "" {
		own, err := tls.LoadX509KeyPair(asked.Certificate, asked.Key)
		Must(err)
		config.Certificates = []tls.Certificate{own}
	}
	return config
}
