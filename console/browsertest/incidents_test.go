package browsertest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/console"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/local"
	"github.com/godwitmq/godwit/ops"
)

// press presses the link, button or summary that says something, as soon as it is there.
func (b *tab) press(text string) {
	b.Helper()
	b.pressIn("a, button, summary", text)
}

// pressIn presses one element that a selector finds. A press may leave the page, and an answer that comes after that is
// lost: then the element would be looked for on the next page. So the answer comes first. The page may replace the
// element meanwhile, so it is found again.
func (b *tab) pressIn(selector, text string) {
	b.Helper()
	b.until(fmt.Sprintf(`(() => {
		const find = () => [...document.querySelectorAll(%q)].find((e) => e.textContent.includes(%q));
		const press = (e) => e?.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true }));
		const e = find();
		if (!e) return false;
		if (e.localName === "summary") press(e);
		else setTimeout(() => press(find()?.closest("a") ?? find()));
		return true;
	})()`, selector, text))
}

// on waits for a page.
func (b *tab) on(path string) {
	b.Helper()
	b.until(fmt.Sprintf(`location.pathname === %q && document.readyState === "complete"`, path))
}

// confirms starts the planned run, and waits until it is done.
func (b *tab) confirms() {
	b.Helper()
	b.says("Nothing has happened yet")
	b.pressIn("#run-form form.panel button", "")
	b.until(`document.querySelector("#run-state .tag")?.innerText === "done"`)
}

// consumes runs a consumer until the test ends, and returns its report.
func (w *world) consumes(channel string, o *godwit.ConsumerOptions, handle godwit.Handler) *ops.Workers {
	w.Helper()
	own, err := ops.NewWorkers(nil)
	if err != nil {
		w.Fatal(err)
	}
	o.Hooks, o.Logger, o.Provision = own.Hooks(channel), slog.New(slog.DiscardHandler), godwit.ProvisionNever
	c, err := godwit.NewConsumer(w.Context(), w.b, channel, o)
	if err != nil {
		w.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = c.Run(ctx, handle)
	}()
	w.Cleanup(func() {
		stop()
		<-ended
	})
	return own
}

// depth is how many messages are in a channel, in the server's words.
func (w *world) depth(ch driver.Channel) int64 {
	w.Helper()
	d, err := w.b.Inspect(w.Context(), ch)
	if err != nil {
		w.Fatal(err)
	}
	return d.All()
}

// eventually waits until a channel has n messages.
func (w *world) eventually(ch driver.Channel, n int64) {
	w.Helper()
	for began := time.Now(); w.depth(ch) != n; time.Sleep(20 * time.Millisecond) {
		if time.Since(began) > patience {
			w.Fatalf("%s has %d messages, want %d", ch, w.depth(ch), n)
		}
	}
}

func dead(ch driver.Channel) driver.Channel {
	ch.DeadLetter = true
	return ch
}

// tally counts what handlers have done.
type tally struct {
	mu sync.Mutex
	n  map[string]int
}

func (t *tally) add(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n == nil {
		t.n = map[string]int{}
	}
	t.n[name]++
}

func (t *tally) of(name string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.n[name]
}

// counted is the embedded server with figures of now: its metrics, like those of AWS, are complete some minutes later.
// Nothing is consumed from its queues.
type counted struct {
	*local.Backend
	published atomic.Int64
	old       map[string]time.Duration // of the messages of a channel, while it has any
}

func (b *counted) Operations() driver.Operations {
	do := driver.OperationsOf(b.Backend)
	do.Inspect = b.Inspect
	do.Activity = func(ctx context.Context, cs []driver.Channel, since time.Time) ([]driver.Activity, error) {
		all := make([]driver.Activity, len(cs))
		for i, ch := range cs {
			a := driver.Activity{Channel: ch, Since: since, Until: time.Now()}
			if a.Sent.Value = b.published.Load(); ch.Queue != "" {
				d, err := b.Inspect(ctx, ch)
				if err != nil {
					return nil, err
				}
				a.Sent.Value, a.Oldest.Value = d.All(), d.Oldest
			}
			all[i] = a
		}
		return all, nil
	}
	return do
}

func (b *counted) Inspect(ctx context.Context, ch driver.Channel) (driver.Depth, error) {
	d, err := b.Backend.Inspect(ctx, ch)
	if d.Oldest = 0; d.All() > 0 {
		d.Oldest = b.old[ch.String()]
	}
	return d, err
}

// A type of messages always fails: its group is found, one message is edited and requeued, the others are deleted.
func TestIncidentPoisonType(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ensure(orders, nil)
	var done tally
	o := &godwit.ConsumerOptions{Concurrency: 4}
	own := w.consumes("orders", o, func(_ context.Context, d *godwit.Delivery) error {
		if d.Type == "order.refunded" && !strings.Contains(string(d.Body), "EUR") {
			return godwit.Permanent(errors.New(`no price in the currency ""`))
		}
		done.add(d.Type)
		return nil
	})
	for i := range 12 {
		typ := "order.placed"
		if i%4 == 0 {
			typ = "order.refunded"
		}
		w.send(orders, driver.Message{Type: typ, Body: body(map[string]any{"order": i, "currency": ""})})
	}
	w.eventually(orders, 0)
	tab := newTab(t, w.serve(w.b, &console.Options{Level: console.LevelAct, Interval: time.Second, Own: own}))
	tab.open("/")
	tab.says("1 of 1 channel needs attention")
	tab.press("3 dead letters")
	tab.on("/channel/orders@dlq/dead")
	tab.says("3 dead letters in 1 group")
	tab.says("order.refunded") // the type of all of them
	tab.picture("incident-poison")
	tab.do(chromedp.Click("#dead-list tbody a"))
	tab.press("Edit and requeue")
	tab.do(chromedp.SetValue("#body-text", `{"order":0,"currency":"EUR"}`))
	tab.press("Requeue with this body")
	tab.says("1 message would be changed")
	tab.confirms()
	w.eventually(dead(orders), 2)
	w.eventually(orders, 0)
	tab.press("The channel")
	tab.press("Dead letters")
	tab.says("2 dead letters in 1 group")
	tab.pressIn("#dead-groups a", "no price")
	tab.says("2 messages selected")
	tab.press("Delete …")
	tab.confirms()
	tab.press("Now")
	tab.says("The channel is within bounds")
	w.eventually(dead(orders), 0)
	if placed, refunded := done.of("order.placed"), done.of("order.refunded"); placed != 9 || refunded != 1 {
		t.Errorf("%d placed and %d refunded were handled", placed, refunded)
	}
}

// A filter lets nothing through: the list says so, the map shows it grey, and the page of the queue sets another one.
func TestIncidentFilter(t *testing.T) {
	w := newWorld(t)
	audit := driver.Channel{Exchange: "events", Queue: "audit", Ordered: true}
	mobile := driver.Channel{Exchange: "events", Queue: "mobile", Ordered: true}
	w.ensure(audit, nil)
	wrong := driver.ChannelSpec{Channel: mobile, Owner: true, Filter: driver.Filter{Prefix: []string{"MOBLIE."}}}
	if err := w.b.Ensure(w.Context(), wrong); err != nil {
		t.Fatal(err)
	}
	b := &counted{Backend: w.b}
	wish := func(n int) {
		b.published.Add(int64(n))
		for i := range n {
			w.send(driver.Channel{Exchange: "events", Ordered: true}, driver.Message{
				Body: body(fmt.Sprint(n, i)), RoutingKey: "MOBILE.APPLE", OrderKey: fmt.Sprint(i),
			})
		}
	}
	wish(20)
	tab := newTab(t, w.serve(b, &console.Options{Level: console.LevelAct, Interval: time.Second}))
	tab.open("/")
	tab.says("its exchange got 20 messages in the last hour, and its filter let none of them through")
	tab.press("Map")
	tab.until(`document.querySelector(".c-map .c-blocked") !== null`)
	tab.picture("incident-filter-map")
	tab.press("Now")
	tab.press("its filter let none of them through")
	tab.on("/channel/events.mobile")
	tab.says("It let nothing through in the last hour")
	tab.says("MOBLIE.*")
	tab.picture("incident-filter")
	tab.do(chromedp.SetValue("input[name=prefix]", "MOBILE."))
	tab.press("Set the filter")
	tab.says("MOBILE.*")
	specs, err := driver.OperationsOf(w.b).Specs(w.Context(), []driver.Channel{mobile})
	if err != nil || strings.Join(specs[0].Filter.Prefix, " ") != "MOBILE." {
		t.Errorf("%+v, %v", specs, err)
	}
	wish(3)
	w.eventually(mobile, 3)
	tab.press("Now")
	tab.says("All 2 channels are within bounds")
	tab.press("Runs")
	tab.says("Change the filter of events.mobile")
}

// waitForScanner is where a handler is stuck.
func waitForScanner(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// A handler is stuck: its stack says where; when its time has passed, its message is deleted from the dead letters.
func TestIncidentStuckHandler(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	uploads := driver.Channel{Queue: "uploads"}
	w.ensure(uploads, nil)
	var done tally
	var looked atomic.Bool // a slow browser may need more than one attempt to see where the handler is
	policy := func(*godwit.Delivery, error) godwit.Verdict {
		if looked.Load() {
			return godwit.Verdict{Action: godwit.ActionReject}
		}
		return godwit.Verdict{Action: godwit.ActionRetry}
	}
	own := w.consumes("uploads",
		&godwit.ConsumerOptions{Concurrency: 2, ProcessingTimeout: 8 * time.Second, Policy: policy},
		func(ctx context.Context, d *godwit.Delivery) error {
			if strings.Contains(string(d.Body), "endless") {
				return waitForScanner(ctx)
			}
			done.add("done")
			return nil
		})
	tab := newTab(t, w.serve(w.b, &console.Options{Level: console.LevelAct, Interval: time.Second, Own: own}))
	for _, text := range []string{"endless", "a", "b"} {
		w.send(uploads, driver.Message{Body: body(text)})
	}
	tab.open("/")
	tab.press("1 handler of uploads used more than half of the time")
	tab.on("/workers")
	tab.press("uploads:")
	tab.says("waitForScanner")
	tab.picture("incident-stuck")
	tab.pressIn("details[open] a", "Dead letters")
	looked.Store(true)
	tab.on("/channel/uploads@dlq/dead")
	tab.says("1 dead letter in 1 group") // once the time of the handler has passed
	tab.says("timeout")
	tab.pressIn("#dead-groups a", "")
	tab.says("1 message selected")
	tab.press("Delete …")
	tab.confirms()
	w.eventually(dead(uploads), 0)
	w.eventually(uploads, 0)
	tab.press("Now")
	tab.says("The channel is within bounds")
	if done.of("done") != 2 {
		t.Errorf("%d others were handled", done.of("done"))
	}
}

// The messages of a slow tenant keep those of the others waiting: they are moved to a channel of their own.
func TestIncidentSlowTenant(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	slow := driver.Channel{Queue: "orders_slow"}
	w.ensure(orders, nil)
	w.ensure(slow, nil)
	var done tally
	o := &godwit.ConsumerOptions{Concurrency: 2}
	own := w.consumes("orders", o, func(ctx context.Context, d *godwit.Delivery) error {
		if d.Tenant == "globex" {
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		done.add(d.Tenant)
		return nil
	})
	const loud, others = 150, 10
	var ms []driver.Message
	for i := range loud + others {
		m := driver.Message{OrderKey: "globex", Body: body(i)}
		if i%16 == 15 {
			m.OrderKey = "acme"
		}
		ms = append(ms, m)
	}
	tab := newTab(t, w.serve(w.b, &console.Options{Level: console.LevelAct, Interval: time.Second, Own: own}))
	w.send(orders, ms...)
	tab.open("/")
	tab.press("% of the handler time of orders")
	tab.on("/tenants")
	tab.says("globex")
	tab.picture("incident-tenant")
	tab.pressIn(".c-bars a", "globex")
	tab.on("/channel/orders/messages")
	tab.says("With what is selected")
	tab.do(chromedp.SetValue("input[name=to]", "orders_slow"))
	tab.press("Move …")
	tab.says("Nothing has happened yet")
	tab.do(chromedp.Evaluate[chromedp.Void](`void (document.querySelector("#confirm") &&
		(document.querySelector("#confirm").value = "orders"))`))
	tab.confirms()
	w.eventually(orders, 0)
	moved := int(w.depth(slow))
	if done.of("acme") != others || done.of("globex")+moved != loud || moved == 0 {
		t.Errorf("acme has %d handled, globex %d, and %d were moved", done.of("acme"), done.of("globex"), moved)
	}
}

// The retention of dead letters is about to end: they are requeued before the service deletes them.
func TestIncidentRetention(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ensure(orders, nil)
	w.ensure(mails, nil)
	w.poison(3, "no stock")
	const kept = 13 * 24 * time.Hour // of fourteen
	w.b.Server().Advance(kept)
	b := &counted{Backend: w.b, old: map[string]time.Duration{"orders@dlq": kept}}
	tab := newTab(t, w.serve(b, &console.Options{Level: console.LevelAct, Interval: time.Second}))
	tab.open("/")
	tab.says("the service deletes the oldest dead letter in")
	tab.picture("incident-retention-now")
	tab.press("Cost and limits")
	tab.says("Messages are about to expire")
	tab.picture("incident-retention")
	tab.press("Messages are about to expire")
	tab.on("/channel/orders@dlq/dead")
	tab.pressIn("#dead-groups a", "no stock")
	tab.says("3 messages selected")
	tab.press("Requeue …")
	tab.says("3 messages would be changed")
	tab.confirms()
	w.eventually(dead(orders), 0)
	w.eventually(orders, 3)
	tab.press("Now")
	tab.says("All 2 channels are within bounds")
}
