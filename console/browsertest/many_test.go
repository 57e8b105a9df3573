package browsertest

import (
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/godwitmq/godwit/console"
	"github.com/godwitmq/godwit/console/internal/crowd"
)

const (
	// paintWithin and updateWithin are how long a person waits for a page, and for its change, in milliseconds.
	paintWithin  = 300
	updateWithin = 100
	// tries is how often each is measured. The best one counts, because other load can only make it worse.
	tries = 20
)

// updated opens the stream of the page again, and returns after how many milliseconds the browser has shown its first
// event: it was drawn by the server, has replaced its part of the page, and the next frame has begun.
const updated = `new Promise((resolve) => {
  const began = performance.now();
  new MutationObserver((_, o) => {
    o.disconnect();
    requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - began)));
  }).observe(document.getElementById(%q), { childList: true });
  dispatchEvent(new PageTransitionEvent("pageshow", { persisted: true }));
})`

// The pages of a thousand channels and of a hundred thousand dead letters are painted within 300 ms, show a change
// within 100 ms, and are small.
func TestCrowd(t *testing.T) {
	b, err := crowd.New(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t}
	tab := newTab(t, w.serve(b, &console.Options{
		Interval: time.Minute, Requests: 1_000_000, Level: console.LevelBodies,
	}))
	for _, page := range []struct{ path, says, part string }{
		{"/", "1 of 1\u2009000 channels needs attention", "now-list"},
		{crowd.Dead, "100\u2009000 dead letters in 20 groups", "dead-groups"},
	} {
		tab.open(page.path)
		tab.says(page.says)
		paint := tab.best(paintWithin, func() float64 {
			tab.open(page.path)
			const first = `performance.getEntriesByName("first-contentful-paint")`
			tab.until(first + ".length > 0")
			return ask(tab, chromedp.Evaluate[float64](first+"[0].startTime"))
		})
		update := tab.best(updateWithin, func() float64 {
			return ask(tab, chromedp.Evaluate[float64](fmt.Sprintf(updated, page.part), chromedp.EvalAwaitPromise))
		})
		size := ask(tab, chromedp.Evaluate[float64](`performance.getEntriesByType("navigation")[0].decodedBodySize`))
		t.Logf("%s is painted after %.0f ms, shows a change after %.0f ms, and has %.0f bytes", page.path, paint, update,
			size)
		if paint > paintWithin || update > updateWithin || size > crowd.Page {
			t.Errorf("want at most %d ms, %d ms and %d bytes", paintWithin, updateWithin, crowd.Page)
		}
	}
}

// best measures until it is within a limit, and returns the best.
func (b *tab) best(limit float64, measure func() float64) float64 {
	best := measure()
	for n := 1; n < tries && best > limit; n++ {
		best = min(best, measure())
	}
	return best
}
