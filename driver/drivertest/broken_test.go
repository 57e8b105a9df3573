package drivertest_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/driver/drivertest"
	"github.com/godwitmq/godwit/local"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/localaws/wire"
)

// breakage breaks a backend in one place; the named case of the kit must fail.
type breakage struct {
	seen    string
	receive func(r driver.Receiver, ctx context.Context, most int, into []driver.Delivery) ([]driver.Delivery, error)
	settle  func(r driver.Receiver, ctx context.Context, batch []driver.Settlement) error
	extend  func(x driver.Extender, ctx context.Context, hs []driver.Handle, by time.Duration) (time.Time, error)
	send    func(s driver.Sender, ctx context.Context, batch []driver.Prepared) error
	find    func(p driver.Provisioner, ctx context.Context, dead driver.Channel) (driver.Channel, error)
	ensure  func(p driver.Provisioner, ctx context.Context, spec driver.ChannelSpec) error
	list    func(all []driver.ChannelInfo) []driver.ChannelInfo
	meter   func(all []driver.Activity) []driver.Activity
	purge   func(do driver.Operations, ctx context.Context, ch driver.Channel, dry bool) (driver.Purged, error)
	remove  func(do driver.Operations, ctx context.Context, ch driver.Channel, dry bool) (driver.Removed, error)
	restore func(do driver.Operations, ctx context.Context, data []byte) (driver.Restored, error)
	operate func(do *driver.Operations)
	pause   func(do driver.Operations, ctx context.Context, ch driver.Channel, dry bool) (bool, error)
}

func breakages() map[string]breakage {
	as := func(from, to driver.Action) func(driver.Receiver, context.Context, []driver.Settlement) error {
		return func(r driver.Receiver, ctx context.Context, batch []driver.Settlement) error {
			batch = slices.Clone(batch)
			for i := range batch {
				if batch[i].Action == from {
					batch[i].Action = to
				}
			}
			return r.Settle(ctx, batch)
		}
	}
	each := func(change func(d *driver.Delivery)) func(driver.Receiver, context.Context, int,
		[]driver.Delivery) ([]driver.Delivery, error) {
		return func(r driver.Receiver, ctx context.Context, most int, into []driver.Delivery) ([]driver.Delivery,
			error,
		) {
			n := len(into)
			ds, err := r.Receive(ctx, driver.Ask{Max: most}, into)
			for i := n; i < len(ds); i++ {
				change(&ds[i])
			}
			return ds, err
		}
	}
	return map[string]breakage{
		"nothing is ever finished": {seen: "settle/done", settle: as(driver.Done, driver.Release)},
		"a release deletes":        {seen: "settle/release", settle: as(driver.Release, driver.Done)},
		"a retry comes at once":    {seen: "settle/retry", settle: as(driver.Retry, driver.Release)},
		"a reject deletes":         {seen: "reject/copied", settle: as(driver.Reject, driver.Done)},
		"headers are forgotten": {
			seen:    "send/arrives",
			receive: each(func(d *driver.Delivery) { d.Header = nil }),
		},
		"keys are forgotten": {seen: "order/keys", receive: each(func(d *driver.Delivery) { d.OrderKey = "" })},
		"leases end later than said": {
			seen:    "lease/told",
			receive: each(func(d *driver.Delivery) { d.LeaseEnds = d.LeaseEnds.Add(time.Minute) }),
		},
		"empty bodies become spaces": {seen: "send/anybytes", receive: each(func(d *driver.Delivery) {
			if len(d.Body) == 0 {
				d.Body = []byte(" ")
			}
		})},
		"more than was asked for": {
			seen: "receive/most",
			receive: func(r driver.Receiver, ctx context.Context, _ int, into []driver.Delivery) ([]driver.Delivery,
				error,
			) {
				return r.Receive(ctx, driver.Ask{Max: 10}, into)
			},
		},
		"a canceled poll is an error": {
			seen: "receive/cancel",
			receive: func(r driver.Receiver, ctx context.Context, most int, into []driver.Delivery) ([]driver.Delivery,
				error,
			) {
				ds, err := r.Receive(ctx, driver.Ask{Max: most}, into)
				if err == nil {
					err = ctx.Err()
				}
				return ds, err
			},
		},
		"renewals do nothing": {
			seen: "lease/extend",
			extend: func(_ driver.Extender, _ context.Context, _ []driver.Handle, by time.Duration) (time.Time, error) {
				return time.Now().Add(by), nil
			},
		},
		"failed entries are swallowed": {
			seen: "send/partial",
			send: func(s driver.Sender, ctx context.Context, batch []driver.Prepared) error {
				_ = s.Send(ctx, batch)
				return nil
			},
		},
		"receipts are made up": {
			seen: "send/receipt",
			send: func(s driver.Sender, ctx context.Context, batch []driver.Prepared) error {
				batch[0].Receipt.ID = "accepted"
				batch[0].Receipt = nil
				return s.Send(ctx, batch)
			},
		},
		"duplicates are told as new": {
			seen: "order/duplicate",
			send: func(s driver.Sender, ctx context.Context, batch []driver.Prepared) error {
				err := s.Send(ctx, batch)
				for i := range batch {
					batch[i].Receipt.Duplicate = false
				}
				return err
			},
		},
		"Verify creates": {
			seen: "provision/verify",
			ensure: func(p driver.Provisioner, ctx context.Context, spec driver.ChannelSpec) error {
				spec.Mode = driver.Auto
				return p.Ensure(ctx, spec)
			},
		},
		"dead letters are found as they were asked for": {
			seen: "reject/found",
			find: func(p driver.Provisioner, ctx context.Context, dead driver.Channel) (driver.Channel, error) {
				found, err := p.Find(ctx, dead)
				found.Ordered = found.Ordered && dead.Ordered
				return found, err
			},
		},
		"bodies are never deleted": {seen: "large/done", receive: each(func(d *driver.Delivery) {
			d.Opener = remembering(d.Opener)
		})},
		"dead letters lose their bodies": {seen: "large/rejected", settle: as(driver.Reject, driver.Done)},
		"large bodies are read into memory": {seen: "large/whole", receive: each(func(d *driver.Delivery) {
			if d.Opener != nil {
				r, _, _ := d.Opener.Open(context.Background())
				d.Body, _ = io.ReadAll(r)
			}
		})},
		"dead letters are not listed": {
			seen: "catalog/channels",
			list: func(all []driver.ChannelInfo) []driver.ChannelInfo {
				return slices.DeleteFunc(all, func(c driver.ChannelInfo) bool { return c.Channel.DeadLetter })
			},
		},
		"a pause does nothing": {
			seen: "pause/receive",
			pause: func(do driver.Operations, ctx context.Context, ch driver.Channel, _ bool) (bool, error) {
				return do.Pause(ctx, ch, true)
			},
		},
		"a dry pause pauses": {
			seen: "pause/dry",
			pause: func(do driver.Operations, ctx context.Context, ch driver.Channel, _ bool) (bool, error) {
				return do.Pause(ctx, ch, false)
			},
		},
		"activity is of other channels": {
			seen: "activity/counts",
			meter: func(all []driver.Activity) []driver.Activity {
				slices.Reverse(all)
				return all
			},
		},
		"nothing was ever deleted": {
			seen: "activity/counts",
			meter: func(all []driver.Activity) []driver.Activity {
				for i := range all {
					all[i].Deleted.Value = 0
				}
				return all
			},
		},
		"no message is old": {
			seen: "activity/oldest",
			meter: func(all []driver.Activity) []driver.Activity {
				for i := range all {
					all[i].Oldest.Value = 0
				}
				return all
			},
		},
		"a dry purge purges": {
			seen: "purge/all",
			purge: func(do driver.Operations, ctx context.Context, ch driver.Channel, _ bool) (driver.Purged, error) {
				return do.Purge(ctx, ch, false)
			},
		},
		"a purge does nothing": {
			seen: "purge/all",
			purge: func(do driver.Operations, ctx context.Context, ch driver.Channel, _ bool) (driver.Purged, error) {
				return do.Purge(ctx, ch, true)
			},
		},
		"dead letters are removed with their queue": {
			seen: "remove/queue",
			remove: func(do driver.Operations, ctx context.Context, ch driver.Channel, dry bool) (driver.Removed,
				error,
			) {
				done, err := do.Remove(ctx, ch, dry)
				if dead := ch; err == nil && !dry {
					dead.DeadLetter = true
					_, _ = do.Remove(ctx, dead, false)
				}
				return done, err
			},
		},
		"a restore makes nothing": {
			seen: "snapshot/queue",
			restore: func(driver.Operations, context.Context, []byte) (r driver.Restored, err error) {
				return r, nil
			},
		},
		"a restore does not subscribe": {
			seen: "snapshot/exchange",
			restore: func(do driver.Operations, ctx context.Context, data []byte) (driver.Restored, error) {
				return do.Restore(ctx, bytes.ReplaceAll(data, []byte(`"subscription"`), []byte(`"none"`)))
			},
		},
		"provisioning resumes": {
			seen: "pause/provision",
			ensure: func(p driver.Provisioner, ctx context.Context, spec driver.ChannelSpec) error {
				_, _ = driver.OperationsOf(p.(driver.Backend)).Resume(ctx, spec.Channel, false)
				return p.Ensure(ctx, spec)
			},
		},
		"a cancel does nothing": {
			seen: "send/cancel",
			operate: func(do *driver.Operations) {
				do.Cancel = func(context.Context, driver.Channel, string) (bool, error) { return true, nil }
			},
		},
		"a cancel fails without a class": {
			seen: "send/cancelid",
			operate: func(do *driver.Operations) {
				cancel := do.Cancel
				do.Cancel = func(ctx context.Context, to driver.Channel, id string) (bool, error) {
					cancelled, err := cancel(ctx, to, id)
					if err != nil {
						err = &driver.Error{Class: driver.Transient, Err: err}
					}
					return cancelled, err
				}
			},
		},
		"an operation is lost": {
			seen:    "operations/complete",
			operate: func(do *driver.Operations) { do.Resume = nil },
		},
		"filters are ignored": {seen: "exchange/filter", receive: nil},
		"discards are secret": {seen: "exchange/discarded", receive: nil},
	}
}

// memory is an Opener that reads the body once.
type memory struct {
	driver.Opener
	body []byte
}

func remembering(o driver.Opener) driver.Opener {
	if o == nil {
		return nil
	}
	return &memory{Opener: o}
}

func (m *memory) Open(ctx context.Context) (io.ReadCloser, int64, error) {
	if m.body == nil {
		r, _, err := m.Opener.Open(ctx)
		if err != nil {
			return nil, 0, err
		}
		m.body, _ = io.ReadAll(r)
	}
	return io.NopCloser(bytes.NewReader(m.body)), int64(len(m.body)), nil
}

const which = "GODWIT_BREAKAGE"

// TestKit runs the kit on a correct backend, or on the broken one that the environment names.
func TestKit(t *testing.T) {
	b, broken := breakages()[os.Getenv(which)]
	var server *localaws.Server
	drivertest.Run(t, drivertest.Harness{
		Bubble: synctest.Test,
		Can: drivertest.Abilities{
			Ordered: true, Leases: true, Delays: true, Later: true, Cancels: true, Retries: true, DeadLetters: true,
			Provisions: true, Inspects: true, LongPolls: true, Exchanges: true, TellsOrder: true,
			Large: true, Lists: true, Pauses: true, Purges: true, Removes: true, Snapshots: true, Meters: true,
			Access: true,
		},
		Open: func(t testing.TB) driver.Backend {
			whole, err := local.Open(t.Context(), &local.Options{Server: &localaws.Options{Seed: 1}, Cancel: true})
			if err != nil {
				t.Fatal(err)
			}
			server = whole.Server()
			if !broken {
				return whole
			}
			return &brokenBackend{Backend: whole, b: b}
		},
		Faults: drivertest.Faults{FailEntry: func(c drivertest.Call, i int) {
			action := map[drivertest.Call]string{
				drivertest.Send:       "sqs.SendMessageBatch",
				drivertest.SettleDone: "sqs.DeleteMessageBatch",
			}[c]
			server.ControlOnce(action, func(context.Context, *localaws.Request) localaws.Outcome {
				return localaws.Outcome{FailEntries: func(id string) *wire.Error {
					if id != strconv.Itoa(i) {
						return nil
					}
					return &wire.Error{Code: "InternalError", Message: "try again", Fault: true}
				}}
			})
		}},
	})
}

// Each breakage makes the case that is meant for it fail.
func TestTheKitSeesWhatIsBroken(t *testing.T) {
	if os.Getenv(which) != "" {
		t.Skip("this is the subprocess with the broken backend")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range breakages() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), self,
				"-test.run=^TestKit$/^"+strings.ReplaceAll(b.seen, "/", "$/^")+"$", "-test.timeout=60s")
			cmd.Env = append(os.Environ(), which+"="+name)
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "--- FAIL: TestKit/"+b.seen) {
				t.Errorf("case %s passed or failed otherwise: %v\n%s", b.seen, err, out)
			}
		})
	}
}

type brokenBackend struct {
	driver.Backend
	b breakage
}

func (k *brokenBackend) Ensure(ctx context.Context, spec driver.ChannelSpec) error {
	p := k.Backend.(driver.Provisioner)
	if k.b.seen == "exchange/filter" {
		spec.Filter = driver.Filter{}
	}
	if k.b.ensure != nil {
		return k.b.ensure(p, ctx, spec)
	}
	return p.Ensure(ctx, spec)
}

func (k *brokenBackend) Find(ctx context.Context, dead driver.Channel) (driver.Channel, error) {
	p := k.Backend.(driver.Provisioner)
	if k.b.find != nil {
		return k.b.find(p, ctx, dead)
	}
	return p.Find(ctx, dead)
}

func (k *brokenBackend) Operations() driver.Operations {
	inner := driver.OperationsOf(k.Backend)
	do := inner
	if k.b.list != nil {
		do.Catalog = func(ctx context.Context) ([]driver.ChannelInfo, error) {
			all, err := inner.Catalog(ctx)
			return k.b.list(all), err
		}
	}
	if k.b.meter != nil {
		do.Activity = func(ctx context.Context, cs []driver.Channel, since time.Time) ([]driver.Activity, error) {
			all, err := inner.Activity(ctx, cs, since)
			return k.b.meter(all), err
		}
	}
	if k.b.pause != nil {
		do.Pause = func(ctx context.Context, ch driver.Channel, dry bool) (bool, error) {
			return k.b.pause(inner, ctx, ch, dry)
		}
	}
	if k.b.purge != nil {
		do.Purge = func(ctx context.Context, ch driver.Channel, dry bool) (driver.Purged, error) {
			return k.b.purge(inner, ctx, ch, dry)
		}
	}
	if k.b.remove != nil {
		do.Remove = func(ctx context.Context, ch driver.Channel, dry bool) (driver.Removed, error) {
			return k.b.remove(inner, ctx, ch, dry)
		}
	}
	if k.b.restore != nil {
		do.Restore = func(ctx context.Context, data []byte) (driver.Restored, error) {
			return k.b.restore(inner, ctx, data)
		}
	}
	if k.b.operate != nil {
		k.b.operate(&do)
	}
	return do
}

func (k *brokenBackend) Sender(ctx context.Context, to driver.Channel) (driver.Sender, error) {
	s, err := k.Backend.Sender(ctx, to)
	if err != nil {
		return nil, err
	}
	return &brokenSender{s, k.b}, nil
}

func (k *brokenBackend) Receiver(ctx context.Context, from driver.Channel, o driver.ReceiverOptions) (driver.Receiver,
	error,
) {
	if k.b.seen == "exchange/filter" {
		o.Filter = driver.Filter{}
	}
	if k.b.seen == "exchange/discarded" {
		o.Events = driver.Events{}
	}
	r, err := k.Backend.Receiver(ctx, from, o)
	if err != nil {
		return nil, err
	}
	return &brokenReceiver{r, k.b}, nil
}

type brokenSender struct {
	driver.Sender
	b breakage
}

func (s *brokenSender) Send(ctx context.Context, batch []driver.Prepared) error {
	if s.b.send != nil {
		return s.b.send(s.Sender, ctx, batch)
	}
	return s.Sender.Send(ctx, batch)
}

type brokenReceiver struct {
	driver.Receiver
	b breakage
}

func (r *brokenReceiver) Receive(
	ctx context.Context, ask driver.Ask, into []driver.Delivery,
) ([]driver.Delivery, error) {
	if r.b.receive != nil {
		return r.b.receive(r.Receiver, ctx, ask.Max, into)
	}
	return r.Receiver.Receive(ctx, ask, into)
}

func (r *brokenReceiver) Settle(ctx context.Context, batch []driver.Settlement) error {
	if r.b.settle != nil {
		return r.b.settle(r.Receiver, ctx, batch)
	}
	return r.Receiver.Settle(ctx, batch)
}

func (r *brokenReceiver) Extend(ctx context.Context, hs []driver.Handle, by time.Duration) (time.Time, error) {
	x := r.Receiver.(driver.Extender)
	if r.b.extend != nil {
		return r.b.extend(x, ctx, hs, by)
	}
	return x.Extend(ctx, hs, by)
}
