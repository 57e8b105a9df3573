package kafka_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
)

// Without brokers in its options, the backend uses those in KAFKA_BOOTSTRAP_SERVERS, as `godwit local --kafka` prints
// it.
func TestBrokersFromTheEnvironment(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(3))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	addrs := cluster.ListenAddrs()
	for _, c := range []struct {
		name, variable string
		o              *kafka.Options
		fails          string
	}{
		{"the variable", strings.Join(addrs, ", "), nil, ""},
		{"options count more", "127.0.0.1:1", &kafka.Options{Brokers: addrs}, ""},
		{"nothing in the variable", " , ", nil, "KAFKA_BOOTSTRAP_SERVERS"},
		{"no address in the variable", "a:b:c", nil, "KAFKA_BOOTSTRAP_SERVERS"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("KAFKA_BOOTSTRAP_SERVERS", c.variable)
			b, err := kafka.Open(t.Context(), c.o)
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) {
					t.Fatalf("error %v, want one that names %s", err, c.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = b.Close(context.WithoutCancel(t.Context())) }()
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			if err := b.Ensure(ctx, driver.ChannelSpec{Channel: driver.Channel{Queue: "orders"}}); err != nil {
				t.Error(err)
			}
		})
	}
}

// A group among the client's own options is refused: commits would use that group, but dead letters, tiers and the lag
// use the channel's name.
func TestAGroupOfTheCallersIsRefused(t *testing.T) {
	for name, opt := range map[string]kgo.Opt{
		"kgo.ConsumerGroup": kgo.ConsumerGroup("billing"),
		"kgo.ShareGroup":    kgo.ShareGroup("billing"),
	} {
		b, err := kafka.Open(t.Context(), &kafka.Options{Brokers: []string{"127.0.0.1:1"}, Client: []kgo.Opt{opt}})
		if err == nil {
			_ = b.Close(t.Context())
		}
		if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), `"billing"`) {
			t.Errorf("%s: error %v, want one that names the option and the group", name, err)
		}
	}
}

// The client connects by TLS if a given root vouches for the server, and else not at all.
func TestTLS(t *testing.T) {
	web := httptest.NewTLSServer(nil) // for its certificate
	defer web.Close()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.TLS(&tls.Config{Certificates: web.TLS.Certificates}))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	known := x509.NewCertPool()
	known.AddCert(web.Certificate())
	for _, c := range []struct {
		name  string
		roots *x509.CertPool
		class driver.Class
	}{{"known", known, 0}, {"unknown", x509.NewCertPool(), driver.Denied}} {
		b, err := kafka.Open(t.Context(), &kafka.Options{
			Brokers: cluster.ListenAddrs(),
			TLS:     &tls.Config{RootCAs: c.roots, ServerName: "example.com"},
		})
		if err != nil {
			t.Fatal(err)
		}
		err = b.Ensure(t.Context(), driver.ChannelSpec{Channel: driver.Channel{Queue: "orders"}})
		if (err != nil) != (c.class != 0) || err != nil && driver.ClassOf(err) != c.class {
			t.Errorf("%s: %v, of class %s", c.name, err, driver.ClassOf(err))
		}
		if err := b.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}
