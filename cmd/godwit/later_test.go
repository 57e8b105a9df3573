package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
	"github.com/godwitmq/godwit/s3store"
	"github.com/godwitmq/godwit/snssqs"
)

// Messages that wait are listed with their times, and cancelled by their ids. Where they cannot be seen, they are
// counted.
func TestLater(t *testing.T) {
	onServer(t)
	decisions, err := s3store.OpenDecisions(t.Context(), &s3store.Options{Bucket: "shop", Prefix: "decisions/"})
	if err != nil {
		t.Fatal(err)
	}
	b, err := snssqs.Open(t.Context(), &snssqs.Options{Decisions: decisions})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close(context.Background()) }()
	if _, err = godwit.NewConsumer(t.Context(), b, "orders", nil); err != nil {
		t.Fatal(err)
	}
	p, err := godwit.NewProducer(t.Context(), b, "orders", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close(context.Background()) }()
	const with = " --decisions s3://shop/decisions/"
	check := func(args string, status int, out, errOut string) {
		t.Helper()
		gotOut, gotErr, got := call(t, strings.Fields(args)...)
		cells := strings.Join(strings.Fields(gotOut), " ")
		if got != status || !strings.Contains(cells, out) || !strings.Contains(gotErr, errOut) {
			t.Errorf("godwit %s: status %d\n%s%s", args, got, gotOut, gotErr)
		}
	}
	check("later ls orders", exitNothing, "", "no message of orders waits")
	check("later ls order", exitNothing, "", "perhaps orders")
	var rs [3]godwit.Receipt
	at := time.Now().Add(48 * time.Hour).Truncate(time.Second)
	for i, m := range []godwit.Message{
		{Body: []byte("in two days"), At: at, Type: "invoice"},
		{Body: []byte("in an hour"), Delay: time.Hour},
		{Body: []byte("at once"), At: time.Now().Add(-time.Hour)},
	} {
		m.Cancellable, m.Receipt = true, &rs[i]
		if err := p.Send(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	check("later ls orders", exitDone, at.UTC().Format(time.RFC3339)+" "+rs[0].ID+" 11 yes invoice", "")
	check("later ls orders -o jsonl", exitDone, `"id":"`+rs[1].ID+`","due":"`, "")
	check("later ls orders -n 1", exitDone, "", "1 of 2 messages are shown")
	check("later ls orders -n 0", exitUsage, "", "--most is 0")
	check("peek orders@later --id "+rs[1].ID, exitDone, rs[1].ID, "")
	check("peek orders@later", exitDone, " due "+at.UTC().Format(time.DateTime)+" type invoice", "")
	check("later cancel orders "+rs[0].ID+with, exitDone, "cancelled", "")
	check("later cancel orders "+rs[0].ID+with+" -o jsonl", exitDone, `"cancelled":true`, "")
	check("later cancel orders "+rs[2].ID+with, exitWrong, "too late", "")
	check("later cancel orders "+rs[2].ID+with+" -o jsonl", exitWrong, `"cancelled":false`, "")
	check("later cancel orders x"+with, exitFailed, "", `"x" is not the id`)
	check("later cancel order "+rs[1].ID+with, exitNothing, "", "perhaps orders")
	check("later cancel orders "+rs[1].ID, exitFailed, "", "--decisions")
	check("later cancel orders "+rs[1].ID+" --decisions shop", exitUsage, "", "--decisions is")
	check("later cancel orders", exitUsage, "", "got 1 arguments")
	check("later now orders", exitUsage, "", "got 1 arguments")
	check("later now orders "+rs[1].ID, exitFailed, "", "it is hidden")

	id, errOut, status := call(t, strings.Fields("send orders x --delay 1h --cancellable"+with)...)
	if status != exitDone {
		t.Errorf("send: status %d, %s", status, errOut)
	}
	check("later cancel orders "+strings.TrimSpace(id)+with, exitDone, "cancelled", "")
	check("send orders x --delay 1h --cancellable", exitUsage, "", "set --decisions")
	check("send orders x --cancellable"+with, exitUsage, "", "set --delay or --at")
	check("send orders x --delay 1h --cancellable -o jsonl"+with, exitDone, `"cancel_id":"orders.`, "")

	to, err := url.Parse(os.Getenv("AWS_ENDPOINT_URL"))
	if err != nil {
		t.Fatal(err)
	}
	pass := httputil.NewSingleHostReverseProxy(to)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/_localaws/") {
			http.NotFound(w, r) // as AWS
			return
		}
		pass.ServeHTTP(w, r)
	}))
	defer proxy.Close()
	t.Setenv("AWS_ENDPOINT_URL", proxy.URL)
	check("later ls orders", exitDone, "orders@later 4", "are unknown")
	check("later ls orders -o jsonl", exitDone, `{"channel":"orders@later","count":4}`, "are unknown")
}

// On Kafka, messages that wait are listed with their times, keys and ids, and commands work on them.
func TestLaterOnKafka(t *testing.T) {
	if apart(t) {
		return
	}
	onBrokers(t)
	check := func(args string, status int, out, errOut string) {
		t.Helper()
		gotOut, gotErr, got := call(t, strings.Fields(args)...)
		cells := strings.Join(strings.Fields(gotOut), " ")
		if got != status || !strings.Contains(cells, out) || !strings.Contains(gotErr, errOut) {
			t.Errorf("godwit %s: status %d\n%s%s", args, got, gotOut, gotErr)
		}
	}
	b, err := kafka.Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close(context.Background()) }()
	s := driver.ChannelSpec{Channel: driver.Channel{Queue: "orders"}, Owner: true}
	if err := b.Ensure(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	check("later ls orders", exitNothing, "", "no message of orders waits")
	check("later ls order", exitNothing, "", "perhaps orders")
	p, err := godwit.NewProducer(t.Context(), b, "orders", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close(context.Background()) }()
	at := time.Now().Add(48 * time.Hour).Truncate(time.Second)
	var r godwit.Receipt
	for _, m := range []godwit.Message{
		{Body: []byte("in two days"), At: at, Type: "invoice", OrderKey: "ada"},
		{Body: []byte("in an hour"), Delay: time.Hour, Cancellable: true, Receipt: &r},
	} {
		if err := p.Send(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	check("later ls orders", exitDone, " ada 11 no invoice", "")
	check("later ls orders", exitDone, at.UTC().Format(time.RFC3339)+" orders.later/", "")
	check("later ls orders -o jsonl -n 1", exitDone, `"cancellable":true`, "1 of 2 messages are shown")
	check("ls", exitDone, "orders@later", "")
	check("describe orders@later", exitDone, "orders.later", "")
	check("doctor orders@later", exitWrong, "topic orders.later has one replica", "")
	check("peek orders@later --id "+r.ID, exitDone, "in an hour", "")
	check("peek orders@later", exitDone, " type invoice", "")
	check("later cancel orders "+r.ID, exitDone, "cancelled", "")
	check("later ls orders -o jsonl", exitDone, `"key":"ada"`, "")
	check("rm orders --yes", exitFailed, "", "there are 1 messages")
	check("later now orders "+r.ID, exitFailed, "", "cancel it, and send another one")
	check("later now orders x", exitFailed, "", "godwit later ls shows the ids")
	check("later now order x", exitNothing, "", "perhaps orders")
	list, _, _ := call(t, "later", "ls", "orders", "-o", "jsonl")
	_, id, _ := strings.Cut(list, `"id":"`)
	id, _, _ = strings.Cut(id, `"`)
	check("later now orders "+id, exitDone, "sent on", "")
	check("later now orders "+id+" -o jsonl", exitDone, `"sent":true`, "")
	check("purge orders@later --yes", exitDone, "", "")
	check("later ls orders", exitNothing, "", "no message of orders waits")
	check("rm orders --yes", exitDone, "orders.later", "")
}
