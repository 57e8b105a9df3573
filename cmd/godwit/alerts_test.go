package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/cmd/internal/operator"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/snssqs"
)

// Dead letters on AWS are printed and told to Slack once, by two runs with one state. Other channels are not told.
func TestAlerts(t *testing.T) {
	onServer(t)
	var posts atomic.Int32
	hook := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { posts.Add(1) }))
	defer hook.Close()
	t.Setenv(operator.SlackVariable, hook.URL+"/services/T/B/s3cr3t")
	b, err := snssqs.Open(t.Context(), &snssqs.Options{Namespace: "prod"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close(context.Background()) }()
	_, err = godwit.NewConsumer(t.Context(), b, "orders", &godwit.ConsumerOptions{
		Ownership: godwit.Ownership{Owner: "shop", Critical: true, AlarmDepth: 2},
	})
	if err != nil {
		t.Fatal(err)
	}
	fill(t, b, "orders", 2)
	args := []string{
		"alerts", "--once", "--slack", "--namespace", "prod", "--state", filepath.Join(t.TempDir(), "alerts"), "-o",
		"json",
	}
	for _, want := range []int{1, 0} {
		var out, errOut bytes.Buffer
		if status := run(t.Context(), args, &out, &errOut); status != exitDone {
			t.Fatalf("status %d: %s", status, &errOut)
		}
		var items []driver.NoticeItem
		if err := json.Unmarshal(out.Bytes(), &items); err != nil || len(items) != want {
			t.Fatalf("%v: %s", err, &out)
		}
		if want == 1 && (items[0].Text != "2 messages waiting (limit 2)" || !items[0].Critical ||
			items[0].Owner != "shop" || items[0].Commands[1] != "godwit requeue orders@dlq --namespace prod") {
			t.Errorf("%s", &out)
		}
	}
	if posts.Load() != 1 {
		t.Errorf("Slack was told %d times", posts.Load())
	}
	hook.Config.Handler = http.NotFoundHandler()
	var out, errOut bytes.Buffer
	status := run(t.Context(), []string{"alerts", "--once", "--slack", "--namespace", "prod"}, &out, &errOut)
	if status != exitFailed || strings.Contains(errOut.String(), "s3cr3t") ||
		!strings.Contains(errOut.String(), "404") || !strings.HasPrefix(out.String(), "CRITICAL: aws prod: 1 opened") {
		t.Errorf("status %d: %s\n%s", status, &errOut, &out)
	}
}

// On Kafka, channels have the defaults.
func TestAlertsOnKafka(t *testing.T) {
	onBrokers(t)
	var out, errOut bytes.Buffer
	if status := run(t.Context(), []string{"alerts", "--once", "-o", "json"}, &out, &errOut); status != exitDone ||
		strings.TrimSpace(out.String()) != "[]" {
		t.Errorf("status %d: %s%s", status, &out, &errOut)
	}
}
