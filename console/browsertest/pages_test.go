package browsertest

import (
	"net/url"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/godwitmq/godwit/console"
)

// Every page loads without a complaint of the browser, light and dark and on a phone; screenshots show them.
func TestPages(t *testing.T) {
	w := newWorld(t)
	b, depths := w.incidents()
	base := w.serve(b, &console.Options{
		Name: "shop", Level: console.LevelAct, Interval: 2 * time.Second, History: w.history(b, depths),
		Own: w.work(),
	})
	tab := newTab(t, base)
	complaints := tab.complaints()
	tab.open("/")
	tab.says("need attention")
	tab.open("/channel/orders@dlq/dead?filter=kind:timeout")
	message := ask(tab, chromedp.AttributeValue("#dead-list tbody a", "href")).Value
	tab.do(chromedp.Submit("form input[value=requeue]"))
	tab.says("Nothing has happened yet")
	run := ask(tab, chromedp.Evaluate[string]("location.pathname"))
	for name, path := range map[string]string{
		"now": "/", "map": "/map", "channel": "/channel/reports?span=6+h", "exchange": "/channel/wishlist_events.*",
		"messages": "/channel/orders/messages", "dead": "/channel/orders@dlq/dead",
		"dead-selected": "/channel/orders@dlq/dead?filter=kind:timeout", "message": message, "run": run,
		"runs":    "/runs",
		"workers": "/workers", "tenants": "/tenants", "costs": "/costs", "gone": "/channel/order",
		"filter": "/channel/orders@dlq/dead?filter=" + url.QueryEscape("kind:timeout colour:red"),
	} {
		for _, look := range []struct {
			name  string
			width int64
			dark  bool
		}{{"light", 1280, false}, {"dark", 1280, true}, {"phone", 390, false}} {
			tab.size(look.width, look.dark)
			tab.open(path)
			if ask(tab, chromedp.Evaluate[bool]("!!document.body.dataset.live")) {
				tab.until(`document.getElementById("stream").textContent === "live"`)
			}
			wide := ask(tab, chromedp.Evaluate[float64]("document.documentElement.scrollWidth"))
			if wide > float64(look.width) {
				t.Errorf("%s %s is %v pixels wide", name, look.name, wide)
			}
			tab.picture(name + "-" + look.name)
		}
	}
	for _, text := range complaints() {
		t.Errorf("the browser complains: %s", text)
	}
}
