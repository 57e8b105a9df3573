package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/cmd/godwit/internal/screen"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/driver/memdriver"
	"github.com/godwitmq/godwit/kafka"
	"github.com/godwitmq/godwit/s3store"
)

// left is a backend with two orphans.
type left struct{ *memdriver.Backend }

func (l left) Operations() driver.Operations {
	do := l.Backend.Operations()
	do.Orphans = l.Orphans
	return do
}

func (left) Orphans(context.Context, time.Time) ([]driver.Orphan, error) {
	at := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	orphan := func(topic, key string, size int64) driver.Orphan {
		return driver.Orphan{Address: topic, Object: driver.Object{
			Location: driver.Location{Bucket: "payloads", Key: key}, Size: size, Written: at,
		}}
	}
	return []driver.Orphan{
		orphan("orders", "kafka/c/topics/orders/1", 5), orphan("sms", "kafka/c/topics/sms/2", 6),
	}, nil
}

// Orphans are printed in all forms.
func TestOrphansOutput(t *testing.T) {
	for form, want := range map[screen.Output]string{
		screen.AsTable: "TOPIC   KEY                      BYTES  WRITTEN\n" +
			"orders  kafka/c/topics/orders/1      5  2026-11-01 12:00:00\n" +
			"sms     kafka/c/topics/sms/2         6  2026-11-01 12:00:00\n",
		screen.AsJSONLines: `{"topic":"orders","bucket":"payloads","key":"kafka/c/topics/orders/1","size":5,` +
			`"written":"2026-11-01T12:00:00Z"}` + "\n" + `{"topic":"sms","bucket":"payloads",` +
			`"key":"kafka/c/topics/sms/2","size":6,"written":"2026-11-01T12:00:00Z"}` + "\n",
	} {
		var out, errOut bytes.Buffer
		o := orphansOptions{output: form}
		if err := o.run(t.Context(), left{}, &out, &errOut); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", form, diff)
		}
		if got := errOut.String(); got != "nothing points to 2 objects of 11 bytes; nothing was deleted\n" {
			t.Errorf("%s: %s", form, got)
		}
	}
}

// The command finds the store and the topics. The body of a message, and what is younger than a day, are no orphans.
func TestOrphans(t *testing.T) {
	onServer(t)
	endpoint := map[string]string{}
	for _, name := range []string{"AWS_ENDPOINT_URL", "AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
		endpoint[name] = os.Getenv(name)
	}
	onBrokers(t)
	for name, value := range endpoint {
		t.Setenv(name, value)
	}
	store, err := s3store.Open(t.Context(), &s3store.Options{Bucket: "payloads", Prefix: "big/"})
	if err != nil {
		t.Fatal(err)
	}
	b, err := kafka.Open(t.Context(), &kafka.Options{Namespace: "prod", Store: store})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close(context.Background()) }()
	p, err := godwit.NewProducer(t.Context(), b, "orders", nil)
	if err == nil {
		err = p.Send(t.Context(), godwit.Message{Body: make([]byte, 2<<20)})
	}
	if err != nil {
		t.Fatal(err)
	}
	var out, errOut bytes.Buffer
	status := run(t.Context(), []string{
		"orphans", "--bucket", "payloads", "--prefix", "big/", "--namespace", "prod", "-o", "json",
	}, &out, &errOut)
	if status != exitDone || out.String() != "[]\n" || !strings.Contains(errOut.String(), "0 objects") {
		t.Errorf("status %d\n%s%s", status, &out, &errOut)
	}
	errOut.Reset()
	if status := run(t.Context(), []string{"orphans", "--bucket", "none"}, &out, &errOut); status != exitFailed ||
		!strings.Contains(errOut.String(), "NoSuchBucket") {
		t.Errorf("status %d: %s", status, &errOut)
	}
	said(t, exitUsage, []string{"--bucket is missing"}, "orphans")
	file := filepath.Join(t.TempDir(), "godwit.yaml")
	text := "contexts:\n  here: {backend: kafka, brokers: [" + os.Getenv("KAFKA_BOOTSTRAP_SERVERS") +
		"], namespace: prod, payloads: {bucket: payloads, prefix: big/}}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GODWIT_CONFIG", file)
	said(t, exitDone, []string{"[]\n", "0 objects"}, "orphans", "--context", "here", "-o", "json")
}
