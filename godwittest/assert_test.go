package godwittest_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/godwittest"
)

// handleOrders fails permanently for "bad", once for "shy", and takes an hour for "slow".
func handleOrders(_ context.Context, d *godwit.Delivery) error {
	switch {
	case string(d.Body) == "bad":
		return godwit.Permanent(errors.New("no such kite"))
	case string(d.Body) == "shy" && d.Attempt == 1:
		return errors.New("not yet")
	case string(d.Body) == "slow":
		time.Sleep(4 * time.Minute)
	}
	return nil
}

// Every assertion passes if it holds, and otherwise fails and reports the actual state.
func TestAssertions(t *testing.T) {
	bad := godwittest.DeadLetter{Body: "bad"}
	for name, c := range map[string]struct {
		assert func(h *godwittest.Harness)
		fails  []string // nil: the assertion holds
	}{
		"handled": {
			func(h *godwittest.Harness) { h.AssertHandled("orders", "shy", "good", "good") },
			nil,
		},
		"handled, one missing": {func(h *godwittest.Harness) {
			h.AssertHandled("orders", "shy", "good", "good",
				"red")
		}, []string{`missing: "red"`, "orders: 4 received, 0 left"}},
		"handled, one too many": {
			func(h *godwittest.Harness) { h.AssertHandled("orders", "shy", "good") },
			[]string{`not wanted: "good"`},
		},
		"handled, twice": {
			func(h *godwittest.Harness) { h.AssertHandled("orders", "shy", "shy", "shy", "good", "good") },
			[]string{
				`missing: "shy", 2 times`, `attempt 1 at +0s: "not yet" after 0s, retry after 5s`,
				"attempt 2 at +5s: handled",
			},
		},
		"handled, of another channel": {
			func(h *godwittest.Harness) { h.AssertHandled("ordres", "good") },
			[]string{"there is no channel of this name"},
		},
		"attempts": {func(h *godwittest.Harness) { h.AssertAttempts("orders", "shy", 2) }, nil},
		"attempts, another number": {
			func(h *godwittest.Harness) { h.AssertAttempts("orders", "shy", 1) },
			[]string{`"shy" of orders had 2 attempts, want 1`},
		},
		"attempts, of nothing": {
			func(h *godwittest.Harness) { h.AssertAttempts("orders", "red", 1) },
			[]string{`nothing with the body "red"`},
		},
		"dead": {func(h *godwittest.Harness) { h.AssertDeadLettered("orders", bad) }, nil},
		"dead, with its cause": {func(h *godwittest.Harness) {
			h.AssertDeadLettered("orders",
				death("permanent", "no such"))
		}, nil},
		"dead, of another cause": {func(h *godwittest.Harness) {
			h.AssertDeadLettered("orders",
				death("", "no such ball"))
		}, []string{
			`missing: "bad": no such ball`,
			`not wanted: "bad", permanent at attempt 1: no such kite (rejected by orders)`,
		}},
		"dead, of another kind": {func(h *godwittest.Harness) {
			h.AssertDeadLettered("orders",
				death("exhausted", ""))
		}, []string{`missing: "bad", exhausted`}},
		"dead, twice": {
			func(h *godwittest.Harness) { h.AssertDeadLettered("orders", bad, bad) },
			[]string{`missing: "bad"`},
		},
		"dead, none": {
			func(h *godwittest.Harness) { h.AssertDeadLettered("orders") },
			[]string{`not wanted: "bad"`},
		},
		"none": {func(h *godwittest.Harness) { h.AssertNone("quiet") }, nil},
		"none, and some": {
			func(h *godwittest.Harness) { h.AssertNone("orders") },
			[]string{"something came to orders", `"good": handled`},
		},
		"none, and some waiting": {
			func(h *godwittest.Harness) { h.AssertNone("unread") },
			[]string{`"letter": never received here, waiting`},
		},
		"nothing left": {func(h *godwittest.Harness) { h.AssertNothingLeft("orders", "quiet") }, nil},
		"nothing left, of all": {
			func(h *godwittest.Harness) { h.AssertNothingLeft() },
			[]string{"1 message left", `"letter": never received here, waiting`},
		},
		"nothing left, of the dead": {
			func(h *godwittest.Harness) { h.AssertNothingLeft("orders@dlq") },
			[]string{"1 message left", "orders@dlq"},
		},
		"order": {
			func(h *godwittest.Harness) { h.AssertOrder("steps", "ada", "shy", "2", "3") },
			nil,
		},
		"order, of another key": {func(h *godwittest.Harness) { h.AssertOrder("steps", "bob", "1") }, nil},
		"order, another": {
			func(h *godwittest.Harness) { h.AssertOrder("steps", "ada", "2", "shy", "3") },
			[]string{`got  ["shy" "2" "3"]`, `want ["2" "shy" "3"]`, `"2" [ada]: handled`},
		},
		"order, where there is none": {
			func(h *godwittest.Harness) { h.AssertOrder("orders", "ada", "good") },
			[]string{"is not ordered"},
		},
		"await": {func(h *godwittest.Harness) { h.Await(func() bool { return true }) }, nil},
		"await, in vain": {
			func(h *godwittest.Harness) { h.Await(func() bool { return false }) },
			[]string{"waited 1h0m0s for a condition"},
		},
		"await handled, in vain": {
			func(h *godwittest.Harness) { h.AwaitHandled("orders", 4) },
			[]string{"for 4 handled messages of orders, and there are 3"},
		},
		"await dead letters": {func(h *godwittest.Harness) { h.AwaitDeadLettered("orders", 1) }, nil},
		"await dead letters, in vain": {
			func(h *godwittest.Harness) { h.AwaitDeadLettered("orders", 2) },
			[]string{"for 2 dead letters of orders, and there are 1"},
		},
		"await nothing left, in vain": {
			func(h *godwittest.Harness) { h.AwaitNothingLeft() },
			[]string{`"letter": never received here`},
		},
		"advance":            {func(h *godwittest.Harness) { h.Advance(time.Hour) }, nil},
		"advance, backwards": {func(h *godwittest.Harness) { h.Advance(-1) }, []string{"time does not go back"}},
		"send, what cannot be": {func(h *godwittest.Harness) {
			h.Send(h.Producer("steps", &godwit.ProducerOptions{Ordered: true}), godwit.Message{Delay: -time.Minute})
		}, []string{"send to steps"}},
		"producer, of no channel": {
			func(h *godwittest.Harness) { h.Producer("--", nil) },
			[]string{"make a producer of --"},
		},
		"consumer, of no channel": {
			func(h *godwittest.Harness) { h.Consumer("--", nil) },
			[]string{"make a consumer of --"},
		},
		"a fault that never happens": {
			func(h *godwittest.Harness) { h.Throttle(godwittest.Sends, "quiet", 1) },
			[]string{"throttle the next 1 sends of quiet: the fault never happened"},
		},
		"a fault of nothing": {
			func(h *godwittest.Harness) { h.Fail(godwittest.Sends, "quiet", 0) },
			[]string{"at least 1"},
		},
		"a fault of unknown calls": {
			func(h *godwittest.Harness) { h.Deny("dreams", "quiet") },
			[]string{"Sends, Receives or Verdicts"},
		},
		"duplicates where order is": {
			func(h *godwittest.Harness) { h.Duplicates("steps", 0.5) },
			[]string{"an ordered channel"},
		},
		"duplicates of nothing": {
			func(h *godwittest.Harness) { h.Duplicates("nowhere", 0.5) },
			[]string{"no queue yet"},
		},
		"duplicates, more than all": {
			func(h *godwittest.Harness) { h.Duplicates("quiet", 2) },
			[]string{"between 0 and 1"},
		},
		"a consumer of the wrong kind": {func(h *godwittest.Harness) {
			h.Consumer("orders",
				&godwit.ConsumerOptions{Ordered: true})
		}, []string{"make a consumer of orders"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				failure := record(t, func(r *recorder) {
					h := godwittest.New(r, &godwittest.Options{Patience: time.Hour})
					populate(h)
					c.assert(h)
				})
				if c.fails == nil && failure != "" {
					t.Errorf("the test failed: %s", failure)
				} else if c.fails != nil {
					says(t, failure, c.fails...)
				}
			})
		})
	}
}

func death(kind, cause string) godwittest.DeadLetter {
	return godwittest.DeadLetter{Body: "bad", Kind: kind, Cause: cause}
}

// populate causes different events on four channels.
func populate(h *godwittest.Harness) {
	backoff := godwit.Constant(5 * time.Second)
	orders := h.Consumer("orders", &godwit.ConsumerOptions{Backoff: backoff})
	steps := h.Consumer("steps", &godwit.ConsumerOptions{Ordered: true, Backoff: backoff})
	h.Run(h.Consumer("quiet", nil), handleOrders)
	h.Send(h.Producer("unread", nil), godwittest.Bodies("letter")...)
	h.Run(orders, handleOrders)
	h.Run(steps, handleOrders)
	h.Send(h.Producer("orders", nil), godwittest.Bodies("shy", "good", "bad", "good")...)
	h.Send(h.Producer("steps", &godwit.ProducerOptions{Ordered: true}),
		append(godwittest.Keyed("ada", "shy", "2", "3"), godwittest.Keyed("bob", "1")...)...)
	h.AwaitHandled("orders", 3)
	h.AwaitHandled("steps", 4)
}

// The end of a test reports errors of handlers and consumers that the test did not ask for.
func TestTheEndTells(t *testing.T) {
	boom := errors.New("the database is of another version")
	fatal := func(context.Context, *godwit.Delivery) error { return godwit.Fatal(boom) }
	for name, c := range map[string]struct {
		test  func(h *godwittest.Harness)
		fails []string
	}{
		"a consumer that ended": {func(h *godwittest.Harness) {
			run := h.Run(h.Consumer("orders", nil), fatal)
			h.Send(h.Producer("orders", nil), godwittest.Bodies("x")...)
			_ = run
			h.Advance(time.Minute)
		}, []string{"the consumer of orders ended with an error", "of another version"}},
		"a consumer that ended, as wanted": {func(h *godwittest.Harness) {
			run := h.Run(h.Consumer("orders", nil), fatal)
			h.Send(h.Producer("orders", nil), godwittest.Bodies("x")...)
			if _, err := run.Wait(); !errors.Is(err, boom) {
				panic(err)
			}
		}, nil},
		"a consumer that should have ended": {func(h *godwittest.Harness) {
			_, _ = h.Run(h.Consumer("orders", nil), handleOrders).Wait()
		}, []string{"should have ended by itself"}},
		"a handler that does not return": {func(h *godwittest.Harness) {
			h.Run(h.Consumer("orders", nil), handleOrders)
			h.Send(h.Producer("orders", nil), godwittest.Bodies("slow")...)
			h.Advance(time.Minute)
		}, []string{"returned while 1 of its handlers still run", `orders: "slow" at attempt 1, for 1m`}},
		"something that does not stop": {func(h *godwittest.Harness) {
			h.Go("the application", func(context.Context) error { time.Sleep(2 * time.Hour); return nil })
		}, []string{"the application was stopped 1h0m0s ago and has not returned"}},
		"a fleet": {func(h *godwittest.Harness) {
			h.RunAll(nil, h.Consumer("orders", nil).With(handleOrders), h.Consumer("audit", nil).With(handleOrders))
			h.Send(h.Producer("audit", nil), godwittest.Bodies("x")...)
			h.AwaitHandled("audit", 1)
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				failure := record(t,
					func(r *recorder) { c.test(godwittest.New(r, &godwittest.Options{Patience: time.Hour})) })
				if c.fails == nil && failure != "" {
					t.Errorf("the test failed: %s", failure)
				} else if c.fails != nil {
					says(t, failure, c.fails...)
				}
				time.Sleep(3 * time.Hour) // running handlers return
			})
		})
	}
}
