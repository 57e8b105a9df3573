package snssqs_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/snssqs"
)

// theirs is a policy as another program might write it.
const theirs = `{ "Version":"2012-10-17", "Id":"<x>",
  "Statement": [ {"Sid":"theirs","Effect":"Allow","Principal":"*","Action":"sqs:SendMessage","Resource":"*"} ] }`

const pauseOfOrders = `{"Action":"sqs:ReceiveMessage","Effect":"Deny","Principal":"*","Resource":"` + queueARN +
	`orders","Sid":"godwitPause"}`

// A pause adds its statement to the policy, and a resume removes it; nothing else of the policy changes.
func TestPauseKeepsThePolicy(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		w.ensure(owner(orders))
		for _, policy := range []string{theirs, ""} {
			w.set("orders", map[string]string{"Policy": policy})
			want := strings.Replace(policy, `"} ]`, `"},`+pauseOfOrders+` ]`, 1)
			if policy == "" {
				want = `{"Statement":[` + pauseOfOrders + `],"Version":"2012-10-17"}`
			}
			_, err := w.b.Pause(w.Context(), orders, false)
			if got := w.attributes("orders")["Policy"]; err != nil || got != want {
				t.Errorf("paused, the policy is %s, %v, want %s", got, err, want)
			}
			_, err = w.b.Resume(w.Context(), orders, false)
			if got := w.attributes("orders")["Policy"]; err != nil || got != policy {
				t.Errorf("resumed, the policy is %s, %v, want %s", got, err, policy)
			}
		}
	})
}

// If another program writes the policy at the same time, both statements remain. A policy that another program changes
// each time is an error that says so.
func TestPauseBesideAnotherWriter(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		w.ensure(owner(orders))
		calls, until := 0, 2
		w.server.Control("sqs.GetQueueAttributes", func(context.Context, *localaws.Request) localaws.Outcome {
			if calls++; calls > 1 && calls <= until {
				policy := strings.Replace(theirs, "<x>", fmt.Sprint(calls), 1)
				if err := w.server.SQS().Configure("orders", map[string]string{"Policy": policy}); err != nil {
					t.Error(err)
				}
			}
			return localaws.Outcome{}
		})
		if _, err := w.b.Pause(w.Context(), orders, false); err != nil {
			t.Fatal(err)
		}
		if sids := w.statements("orders"); sids["theirs"] == nil || sids["godwitPause"] == nil {
			t.Errorf("the statements are %v", sids)
		}
		if _, err := w.b.Resume(w.Context(), orders, false); err != nil {
			t.Fatal(err)
		}
		w.set("orders", map[string]string{"Policy": ""})
		calls, until = 0, 1000
		_, err := w.b.Pause(w.Context(), orders, false)
		if driver.ClassOf(err) != driver.Transient || !strings.Contains(err.Error(), "another program") {
			t.Errorf("%v, of class %s", err, driver.ClassOf(err))
		}
	})
}

// A policy that is still the old one after a write is read again, for a minute, and not written again.
func TestPauseThatSpreadsSlowly(t *testing.T) {
	for seconds, want := range map[int]driver.Class{3: driver.Permanent, 100: driver.Transient} {
		inWorld(t, localaws.Options{}, func(w *world) {
			w.ensure(owner(orders))
			w.set("orders", map[string]string{"Policy": theirs})
			begun := time.Time{}
			w.server.Control("sqs.GetQueueAttributes", func(context.Context, *localaws.Request) localaws.Outcome {
				policy := theirs
				if !begun.IsZero() && time.Since(begun) >= time.Duration(seconds)*time.Second {
					policy = strings.Replace(theirs, `"} ]`, `"},`+pauseOfOrders+` ]`, 1)
				}
				if begun.IsZero() {
					begun = time.Now()
				}
				if err := w.server.SQS().Configure("orders", map[string]string{"Policy": policy}); err != nil {
					t.Error(err)
				}
				return localaws.Outcome{}
			})
			made := w.calls(func() {
				if _, err := w.b.Pause(w.Context(), orders, false); driver.ClassOf(err) != want {
					t.Errorf("after %d s: %v, want class %s", seconds, err, want)
				}
			})
			if made["sqs.SetQueueAttributes"] != 1 {
				t.Errorf("after %d s: %v", seconds, made)
			}
		})
	}
}

// A mapped queue is not changed. A consumer of one that its owner has paused says so, too.
func TestPauseOfAMappedQueue(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		w.ensure(owner(orders))
		b := w.open(snssqs.Options{Names: map[string]snssqs.Resource{"bills": {Queue: queueARN + "orders"}}})
		bills := driver.Channel{Queue: "bills"}
		if _, err := b.Pause(w.Context(), bills, false); driver.ClassOf(err) != driver.Permanent || !strings.Contains(
			err.Error(), "Options.Names") {
			t.Errorf("%v", err)
		}
		if _, err := w.b.Pause(w.Context(), orders, false); err != nil {
			t.Fatal(err)
		}
		r, err := b.Receiver(w.Context(), bills, driver.ReceiverOptions{Concurrency: 1})
		if err != nil {
			t.Fatal(err)
		}
		w.receivers = append(w.receivers, r)
		if _, err := r.Receive(w.Context(), driver.Ask{Max: 1}, nil); !errors.Is(err, driver.ErrPaused) {
			t.Errorf("%v", err)
		}
		all, err := b.Catalog(w.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range all {
			if c.Channel == bills && !c.Paused {
				t.Errorf("%+v", c)
			}
		}
	})
}

// A pause that is denied names the permission. A receive that is denied for another reason is no pause, and neither is
// one if the policy cannot be read.
func TestPauseDenied(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		w.ensure(owner(orders))
		r := w.receiver(orders, driver.Filter{})
		if _, err := w.b.Pause(w.Context(), orders, false); err != nil {
			t.Fatal(err)
		}
		w.deny("sqs.SetQueueAttributes")
		_, err := w.b.Resume(w.Context(), orders, false)
		w.denied(err, "resume", "sqs:SetQueueAttributes")
		w.deny("sqs.GetQueueAttributes")
		_, err = r.Receive(w.Context(), driver.Ask{Max: 1}, nil)
		w.denied(err, "receive", "sqs:ReceiveMessage")
	})
	inWorld(t, localaws.Options{}, func(w *world) {
		w.ensure(owner(orders))
		r := w.receiver(orders, driver.Filter{})
		w.deny("sqs.ReceiveMessage")
		_, err := r.Receive(w.Context(), driver.Ask{Max: 1}, nil)
		w.denied(err, "receive", "sqs:ReceiveMessage")
	})
}
