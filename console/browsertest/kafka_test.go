package browsertest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/console"
	"github.com/godwitmq/godwit/local/kafkalocal"
	"github.com/godwitmq/godwit/ops"
)

// On Kafka every page shows something or says why not, and dead letters are requeued with confirmation and progress.
func TestKafka(t *testing.T) {
	t.Parallel()
	b, err := kafkalocal.Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	own, err := ops.NewWorkers(nil)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t}
	var mended atomic.Bool
	var done tally
	run := func(channel string, o *godwit.ConsumerOptions) {
		o.Hooks, o.Logger = own.Hooks(channel), slog.New(slog.DiscardHandler)
		c, err := godwit.NewConsumer(t.Context(), b, channel, o)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(context.Background())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_, _ = c.Run(ctx, func(_ context.Context, d *godwit.Delivery) error {
				if strings.Contains(string(d.Body), "bad") && !mended.Load() {
					return godwit.Permanent(errors.New("no price for the article"))
				}
				done.add(channel)
				return nil
			})
		}()
		t.Cleanup(func() {
			stop()
			<-ended
		})
	}
	run("orders", &godwit.ConsumerOptions{Concurrency: 4})
	run("events.audit", &godwit.ConsumerOptions{
		Ordered: true, Filter: godwit.Filter{Prefix: []string{"MOBILE."}}, ProcessingTimeout: 30 * time.Second,
	})
	send := func(channel string, ordered bool, n int, text string) {
		p, err := godwit.NewProducer(t.Context(), b, channel, &godwit.ProducerOptions{Ordered: ordered})
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			m := godwit.Message{Body: body(fmt.Sprint(text, i)), Type: "order.placed"}
			if ordered {
				m.OrderKey, m.RoutingKey = fmt.Sprint("user-", i%3), "MOBILE.APPLE"
			}
			if _, err := p.SendAsync(t.Context(), m); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	const good, bad = 20, 150
	send("orders", false, good, "good ")
	send("orders", false, bad, "bad ")
	send("events.*", true, good, "good ")
	tab := newTab(t, w.serve(b, &console.Options{Level: console.LevelAct, Interval: time.Second, Own: own}))
	complaints := tab.complaints()
	tab.open("/")
	tab.says("150 dead letters")
	tab.press("150 dead letters")
	tab.on("/channel/orders@dlq/dead")
	tab.says("150 dead letters in 1 group")
	message := ask(tab, chromedp.AttributeValue("#dead-list tbody a", "href")).Value
	for name, page := range map[string]struct{ path, says string }{
		"now":      {"/", "1 of 2 channels need"},
		"map":      {"/map", "events.audit"},
		"channel":  {"/channel/orders", "This service cannot pause a channel"},
		"audit":    {"/channel/events.audit", "as its consumers choose"},
		"exchange": {"/channel/events.*", "events.audit"},
		"messages": {"/channel/events.audit/messages", "which is all there are"},
		"dead":     {"/channel/orders@dlq/dead?filter=all", "150 messages selected"},
		"message":  {message, "no price for the article"},
		"workers":  {"/workers", "events.audit"},
		"tenants":  {"/tenants", "user-1"},
		"costs":    {"/costs", "This service has no prices for requests"},
		"runs":     {"/runs", "Nothing was run yet"},
	} {
		tab.open(page.path)
		if ask(tab, chromedp.Evaluate[bool]("!!document.body.dataset.live")) {
			tab.until(`document.getElementById("stream").textContent === "live"`)
		}
		if text := tab.text(); !strings.Contains(text, page.says) {
			t.Errorf("the page %s does not say %q:\n%s", name, page.says, text)
		}
		tab.picture("kafka-" + name)
	}
	mended.Store(true)
	tab.open("/channel/orders@dlq/dead")
	tab.pressIn("#dead-groups a", "no price")
	tab.says("150 messages selected")
	tab.do(chromedp.SetValue("input[name=rate]", "100"))
	tab.press("Requeue …")
	tab.says("150 messages would be changed")
	tab.do(chromedp.SendKeys("#confirm", "orders@dlq"), chromedp.Click("#run-form button.primary"))
	tab.says("Started by this machine")
	tab.until(`document.querySelector("progress")?.value > 5`)
	tab.until(`document.querySelector("#run-state .tag")?.innerText === "done"`)
	tab.picture("kafka-run")
	tab.open("/")
	tab.says("All 2 channels are within bounds")
	tab.open("/channel/orders@dlq/dead")
	tab.says("No dead letters")
	for began := time.Now(); done.of("orders") != good+bad; time.Sleep(20 * time.Millisecond) {
		if time.Since(began) > patience {
			t.Fatalf("%d were handled", done.of("orders"))
		}
	}
	for _, text := range complaints() {
		t.Errorf("the browser complains: %s", text)
	}
}
