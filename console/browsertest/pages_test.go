package browsertest

import (
	"context"
	"net/url"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/godwitmq/godwit/console"
)

// Every page loads without a complaint of the browser, light and dark and on a phone; screenshots show them.
func TestPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b, depths := w.incidents()
	base := w.serve(b, &console.Options{
		Name: "shop", Level: console.LevelAct, Interval: 2 * time.Second, History: w.history(b, depths),
		Own: w.work(), Spaces: func() []console.Space {
			return []console.Space{{Href: "/", Here: true}, {Name: "prod", Href: "/in/prod/"}}
		},
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
			tab.accessible(name + " " + look.name)
		}
	}
	for _, text := range complaints() {
		t.Errorf("the browser complains: %s", text)
	}
}

// unreadable lists texts whose contrast with the ground below them is less than WCAG AA asks for.
const unreadable = `(() => {
	const rgb = (text) => (text.match(/[\d.]+/g) || []).map(Number);
	const light = (c) => {
		const [r, g, b] = c.slice(0, 3).map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
		return 0.2126 * r + 0.7152 * g + 0.0722 * b;
	};
	const ground = (e) => {
		for (; e; e = e.parentElement) {
			const c = rgb(getComputedStyle(e).backgroundColor);
			if (c.length === 3 || c[3] > 0.99) return c;
		}
		return [255, 255, 255];
	};
	const found = [];
	for (const e of document.querySelectorAll("body *")) {
		if (e.closest("svg, noscript, script, .hidden, .skip, .tip") || !e.checkVisibility()) continue;
		if (![...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim())) continue;
		const style = getComputedStyle(e), size = parseFloat(style.fontSize);
		const large = size >= 24 || size >= 18.66 && style.fontWeight >= 700;
		const a = light(rgb(style.color)), b = light(ground(e));
		const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
		if (ratio < (large ? 3 : 4.5)) found.push(e.outerHTML.slice(0, 120) + " " + ratio.toFixed(2));
	}
	return found.join("\n");
})()`

// unnamed lists controls without a name, and those whose focus cannot be seen.
const unnamed = `(() => {
	const found = [], was = document.activeElement;
	const name = (e) => [e.getAttribute("aria-label"), [...e.labels || []].map((l) => l.textContent).join(" "),
		e.matches("input, select, textarea") ? "" : e.textContent, e.getAttribute("title")].join("").trim();
	for (const e of document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex]")) {
		if (e.matches("input[type=hidden], main, .skip") || !e.checkVisibility()) continue;
		if (!name(e)) found.push("no name: " + e.outerHTML.slice(0, 160));
		e.focus({ focusVisible: true, preventScroll: true });
		const style = getComputedStyle(e), mark = e.querySelector("rect, circle, path");
		const seen = parseFloat(style.outlineWidth) >= 2 && style.outlineStyle !== "none" ||
			mark && getComputedStyle(mark).stroke === getComputedStyle(document.body).color;
		if (document.activeElement !== e || !seen) found.push("its focus is not seen, " + style.outline + ": " + e.outerHTML.slice(0, 160));
	}
	was?.focus?.();
	if (document.activeElement !== was) document.activeElement.blur();
	return found.join("\n");
})()`

// Every text can be read on its ground, every control has a name, and its focus is seen.
func (b *tab) accessible(page string) {
	b.Helper()
	_, err := chromedp.Call(b.ctx, emulation.SetFocusEmulationEnabled,
		emulation.SetFocusEmulationEnabledParams{Enabled: true})
	if err != nil {
		b.Fatal(err)
	}
	b.do(chromedp.KeyEvent(kb.Tab))
	for _, look := range []string{unreadable, unnamed} {
		if found := ask(b, chromedp.Evaluate[string](look)); found != "" {
			b.Errorf("%s:\n%s", page, found)
		}
	}
}

// bar is an embedded server that does nothing.
type bar struct{}

func (bar) Send(context.Context, string, []byte) error { return nil }
func (bar) Advance(time.Duration)                      {}
func (bar) Faults() []string                           { return []string{"sends fail"} }
func (bar) Inject(string) error                        { return nil }
func (bar) Injected() string                           { return "" }
func (bar) Reset()                                     {}

// The bar of local mode can be read and used by everybody as well.
func TestLocalBar(t *testing.T) {
	w := newWorld(t)
	w.ensure(orders, nil)
	tab := newTab(t, w.serve(w.b, &console.Options{Level: console.LevelAct, Interval: time.Second, Local: bar{}}))
	for _, dark := range []bool{false, true} {
		tab.size(1280, dark)
		tab.open("/")
		tab.says("within bounds")
		tab.picture(map[bool]string{false: "local-light", true: "local-dark"}[dark])
		tab.accessible("local")
	}
}
