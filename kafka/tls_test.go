package kafka_test

import (
	"crypto/tls"
	"crypto/x509"
	"net/http/httptest"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
)

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
