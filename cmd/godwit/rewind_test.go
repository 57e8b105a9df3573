package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
)

// The flag --to is a place, a time, a duration back from now, or an offset.
func TestPosition(t *testing.T) {
	now := time.Date(2026, 11, 23, 10, 0, 0, 0, time.UTC)
	for to, want := range map[string]driver.Position{
		"start":                {},
		"end":                  {From: driver.FromEnd},
		"2h":                   {From: driver.FromTime, Time: now.Add(-2 * time.Hour)},
		"2026-11-01T00:00:00Z": {From: driver.FromTime, Time: time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)},
		"offset:12":            {From: driver.FromOffset, Offset: 12},
	} {
		if got, err := position(to, nil, now); err != nil || cmp.Diff(want, got) != "" {
			t.Errorf("%s: %v, %v", to, got, err)
		}
	}
	for _, to := range []string{"", "-2h", "offset:", "offset:1x", "monday"} {
		if _, err := position(to, nil, now); err == nil || !strings.Contains(err.Error(), "--to") {
			t.Errorf("%q: %v", to, err)
		}
	}
}

// A rewound channel is handled again. Without --yes nothing happens, and a wrong name is answered with the right one.
func TestRewind(t *testing.T) {
	onBrokers(t)
	b, err := kafka.Open(t.Context(), &kafka.Options{ChannelOptions: kafka.ChannelOptions{Partitions: 1}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close(context.Background()) }()
	p, err := godwit.NewProducer(t.Context(), b, "orders", nil)
	if err == nil {
		err = p.SendBatch(t.Context(), []godwit.Message{{Body: []byte("a")}, {Body: []byte("b")}, {Body: []byte("c")}})
	}
	if err != nil {
		t.Fatal(err)
	}
	handle := func() (handled string) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		c, err := godwit.NewConsumer(ctx, b, "orders", &godwit.ConsumerOptions{Ordered: true})
		if err == nil {
			_, err = c.Run(ctx, func(_ context.Context, d *godwit.Delivery) error {
				if handled += string(d.Body); len(handled) == 3 {
					stop()
				}
				return nil
			})
		}
		if err != nil {
			t.Fatal(err)
		}
		return handled
	}
	rewind := func(status int, args ...string) (out, errOut bytes.Buffer) {
		t.Helper()
		if got := run(t.Context(), append([]string{"rewind"}, args...), &out, &errOut); got != status {
			t.Fatalf("%v: status %d: %s", args, got, &errOut)
		}
		return out, errOut
	}
	if got := handle(); got != "abc" {
		t.Fatalf("handled %s", got)
	}
	if _, errOut := rewind(exitNothing, "order", "--to", "start"); !strings.Contains(errOut.String(),
		"perhaps orders") {
		t.Errorf("%s", &errOut)
	}
	for _, args := range [][]string{{"orders", "--to", "start"}, {"orders", "--to", "start", "--yes"}} {
		out, errOut := rewind(exitDone, args...)
		if !strings.Contains(out.String(), "0    3   0              3        0") || !strings.Contains(errOut.String(),
			"3 messages") {
			t.Errorf("%v:\n%s%s", args, &out, &errOut)
		}
	}
	if got := handle(); got != "abc" {
		t.Errorf("handled %s after the rewind", got)
	}
}
