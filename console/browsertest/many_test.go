package browsertest

import (
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/godwitmq/godwit/console"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/driver/memdriver"
)

// A page of a thousand channels is painted fast, and is small on its way.
func TestManyChannels(t *testing.T) {
	b, err := memdriver.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		ch := driver.Channel{Queue: fmt.Sprintf("channel-with-a-long-name-%04d", i)}
		if err := b.Ensure(t.Context(), driver.ChannelSpec{Channel: ch, Owner: true}); err != nil {
			t.Fatal(err)
		}
	}
	w := &world{T: t}
	tab := newTab(t, w.serve(b, &console.Options{Interval: time.Second, Requests: 1_000_000}))
	tab.open("/")
	tab.says("All 1000 channels are within bounds")
	tab.open("/?sort=name")
	tab.until(`performance.getEntriesByName("first-contentful-paint").length > 0`)
	paint := ask(tab, chromedp.Evaluate[float64](`performance.getEntriesByName("first-contentful-paint")[0].startTime`))
	bytes := ask(tab, chromedp.Evaluate[float64](`performance.getEntriesByType("navigation")[0].transferSize`))
	whole := ask(tab, chromedp.Evaluate[float64](`performance.getEntriesByType("navigation")[0].decodedBodySize`))
	t.Logf("first paint after %.0f ms, %.0f bytes transferred, %.0f of HTML", paint, bytes, whole)
	if bytes > 150_000 || paint > 3000 { // 300 ms on an idle machine
		t.Errorf("first paint after %.0f ms, %.0f bytes", paint, bytes)
	}
}
