package kafka

import (
	"crypto/tls"
	"encoding/pem"
	"maps"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The environment says how to connect if the options have no brokers. What the options have counts more.
func TestConnectionOfTheEnvironment(t *testing.T) {
	password := map[string]string{"KAFKA_SASL_USERNAME": "ada", "KAFKA_SASL_PASSWORD": "secret"}
	with := func(more map[string]string, also map[string]string) map[string]string {
		all := map[string]string{}
		for _, m := range []map[string]string{more, also} {
			maps.Copy(all, m)
		}
		return all
	}
	ownTLS := &tls.Config{ServerName: "own"}
	for _, c := range []struct {
		name string
		env  map[string]string
		o    Options
		tls  bool
		sasl string // mechanism/user
		says string // of the error
	}{
		{name: "nothing"},
		{name: "plain text", env: map[string]string{"KAFKA_SECURITY_PROTOCOL": "PLAINTEXT"}},
		{name: "TLS", env: map[string]string{"KAFKA_SECURITY_PROTOCOL": "SSL"}, tls: true},
		{
			name: "a password", sasl: "PLAIN/ada",
			env: with(password, map[string]string{
				"KAFKA_SECURITY_PROTOCOL": "SASL_PLAINTEXT", "KAFKA_SASL_MECHANISM": "PLAIN",
			}),
		},
		{
			name: "a password and TLS", tls: true, sasl: "SCRAM-SHA-512/ada",
			env: with(password, map[string]string{
				"KAFKA_SECURITY_PROTOCOL": "sasl_ssl", "KAFKA_SASL_MECHANISM": "SCRAM-SHA-512",
			}),
		},
		{
			name: "MSK", tls: true, sasl: "AWS_MSK_IAM/",
			env: map[string]string{"KAFKA_SECURITY_PROTOCOL": "SASL_SSL", "KAFKA_SASL_MECHANISM": "AWS_MSK_IAM"},
		},
		{
			name: "the options' own brokers", o: Options{Brokers: []string{"b:9092"}},
			env: map[string]string{"KAFKA_SECURITY_PROTOCOL": "SASL_SSL"},
		},
		{
			name: "the options' own credentials", tls: true, sasl: "PLAIN/bob",
			o:   Options{TLS: ownTLS, SASL: &SASL{Mechanism: "PLAIN", User: "bob", Password: "x"}},
			env: map[string]string{"KAFKA_SECURITY_PROTOCOL": "SASL_SSL"},
		},
		{
			name: "an unknown protocol", env: map[string]string{"KAFKA_SECURITY_PROTOCOL": "TLS"},
			says: `KAFKA_SECURITY_PROTOCOL is "TLS"`,
		},
		{
			name: "no mechanism", env: map[string]string{"KAFKA_SECURITY_PROTOCOL": "SASL_SSL"},
			says: "KAFKA_SASL_MECHANISM is missing",
		},
		{
			name: "an unknown mechanism", says: `SASL.Mechanism is "GSSAPI"`,
			env: with(password, map[string]string{
				"KAFKA_SECURITY_PROTOCOL": "SASL_SSL", "KAFKA_SASL_MECHANISM": "GSSAPI",
			}),
		},
		{
			name: "credentials without SASL", says: `set that to SASL_SSL or SASL_PLAINTEXT, or remove KAFKA_SASL_MECHANISM`,
			env: map[string]string{"KAFKA_SECURITY_PROTOCOL": "SSL", "KAFKA_SASL_MECHANISM": "PLAIN"},
		},
		{
			name: "an authority without TLS", says: `KAFKA_SSL_CA_LOCATION has no effect, because KAFKA_SECURITY_PROTOCOL is ""`,
			env: map[string]string{"KAFKA_SSL_CA_LOCATION": "ca.pem"},
		},
		{
			name: "no password", says: "KAFKA_SASL_USERNAME or KAFKA_SASL_PASSWORD is missing",
			env: map[string]string{
				"KAFKA_SECURITY_PROTOCOL": "SASL_SSL", "KAFKA_SASL_MECHANISM": "PLAIN", "KAFKA_SASL_USERNAME": "ada",
			},
		},
		{
			name: "a token", says: "set kafka.Options.SASL with a Token",
			env: map[string]string{"KAFKA_SECURITY_PROTOCOL": "SASL_SSL", "KAFKA_SASL_MECHANISM": "OAUTHBEARER"},
		},
		{
			name: "a certificate without its key", says: "KAFKA_SSL_KEY_LOCATION",
			env: map[string]string{"KAFKA_SECURITY_PROTOCOL": "SSL", "KAFKA_SSL_CERTIFICATE_LOCATION": "x.pem"},
		},
		{
			name: "no such file", says: "KAFKA_SSL_CA_LOCATION",
			env: map[string]string{"KAFKA_SECURITY_PROTOCOL": "SSL", "KAFKA_SSL_CA_LOCATION": "no-such.pem"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			for k, v := range c.env {
				t.Setenv(k, v)
			}
			b, err := Open(t.Context(), &c.o)
			if c.says != "" {
				if err == nil || !strings.Contains(err.Error(), c.says) {
					t.Errorf("%v, want an error that says %q", err, c.says)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = b.Close(t.Context()) }()
			if got := b.o.TLS != nil; got != c.tls || c.o.TLS != nil && b.o.TLS != c.o.TLS {
				t.Errorf("TLS is %v", b.o.TLS)
			}
			sasl := ""
			if b.o.SASL != nil {
				sasl = b.o.SASL.Mechanism + "/" + b.o.SASL.User
			}
			if sasl != c.sasl {
				t.Errorf("SASL is %q, want %q", sasl, c.sasl)
			}
		})
	}
}

// Certificates are read from files.
func TestCertificatesOfTheEnvironment(t *testing.T) {
	web := httptest.NewTLSServer(nil)
	defer web.Close()
	dir := t.TempDir()
	ca, empty := filepath.Join(dir, "ca.pem"), filepath.Join(dir, "empty.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: web.Certificate().Raw})
	for file, content := range map[string][]byte{ca: text, empty: nil} {
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("KAFKA_SECURITY_PROTOCOL", "SSL")
	t.Setenv("KAFKA_SSL_CA_LOCATION", ca)
	b := newTestBackend(t, Options{})
	if b.o.TLS == nil || b.o.TLS.RootCAs == nil {
		t.Fatalf("TLS is %+v", b.o.TLS)
	}
	t.Setenv("KAFKA_SSL_CA_LOCATION", empty)
	if _, err := Open(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "no certificate in PEM") {
		t.Errorf("%v, want an error for a file without a certificate", err)
	}
	t.Setenv("KAFKA_SSL_CA_LOCATION", ca)
	t.Setenv("KAFKA_SSL_CERTIFICATE_LOCATION", ca)
	t.Setenv("KAFKA_SSL_KEY_LOCATION", ca)
	if _, err := Open(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "KAFKA_SSL_KEY_LOCATION") {
		t.Errorf("%v, want an error for a file without a key", err)
	}
}
