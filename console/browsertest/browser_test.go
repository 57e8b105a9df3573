package browsertest

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/chromedp"
)

var (
	chromium = flag.String("chromium", "", "the program Chromium; without it, the tests that need it are skipped")
	shots    = flag.String("screenshots", "", "the folder for screenshots; \"\": none are taken")
)

// leaves are the errors of a look at a page that is left for another one meanwhile.
var leaves = regexp.MustCompile("navigated|Cannot find context|No node with given id")

// foreignHost is a name that leads to this machine, as a site of somebody else may have it.
const foreignHost = "evil.example.com"

// patience is how long a condition of a page is waited for.
const patience = time.Minute

// tab is a page of Chromium.
type tab struct {
	*testing.T
	ctx  context.Context
	base string
}

// newTab opens a tab of a browser of its own.
func newTab(t *testing.T, base string) *tab {
	t.Helper()
	if *chromium == "" {
		t.Skip("no -chromium")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.ExecPath(*chromium),
		chromedp.Flag("host-resolver-rules", "MAP "+foreignHost+" 127.0.0.1"),
		chromedp.WSURLReadTimeout(patience))
	allocator, end := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(end)
	ctx, leave := chromedp.NewContext(allocator)
	t.Cleanup(leave)
	one := &tab{t, ctx, base}
	if err := chromedp.Do(ctx); err != nil { // it begins the browser, without a time limit
		t.Fatal(err)
	}
	one.size(1280, false)
	return one
}

// do does steps, within the patience.
func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.Fatal(err)
	}
}

// ask returns what an action returns.
func ask[T any](b *tab, a chromedp.Action[T]) T {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, a)
	if err != nil {
		b.Fatal(err)
	}
	return v
}

// size sets the width of the window, and the colors.
func (b *tab) size(width int64, dark bool) {
	b.Helper()
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	b.do(chromedp.EmulateViewport(width, 900))
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
	if err != nil {
		b.Fatal(err)
	}
}

// open opens a page of the console.
func (b *tab) open(path string) {
	b.Helper()
	b.do(chromedp.Navigate(b.base + path))
}

// until waits for a condition in the page.
func (b *tab) until(condition string) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	poll := chromedp.Poll[bool](condition, chromedp.WithPollingInterval(20*time.Millisecond),
		chromedp.WithPollingTimeout(0))
	_, err := chromedp.Run(ctx, poll)
	for err != nil && ctx.Err() == nil && leaves.MatchString(err.Error()) {
		_, err = chromedp.Run(ctx, poll)
	}
	if err != nil {
		b.Fatalf("%s: %v\nthe page says:\n%.2000s", condition, err, b.text())
	}
}

// text is what the page says.
func (b *tab) text() string {
	b.Helper()
	return ask(b, chromedp.Evaluate[string]("document.body.innerText"))
}

// says waits until the page says something.
func (b *tab) says(text string) {
	b.Helper()
	b.until(fmt.Sprintf("document.body.innerText.includes(%q)", text))
}

// picture takes a screenshot of the whole page.
func (b *tab) picture(name string) {
	b.Helper()
	if *shots == "" {
		return
	}
	png := ask(b, chromedp.FullScreenshot(100))
	if err := os.WriteFile(filepath.Join(*shots, name+".png"), png, 0o600); err != nil {
		b.Fatal(err)
	}
}

// complaints collects what the browser writes to its console, such as what the policy of a page has blocked.
func (b *tab) complaints() (all func() []string) {
	b.Helper()
	var mu sync.Mutex
	var texts []string
	err := chromedp.Listen(b.ctx, func(ev any) {
		entry, ok := ev.(*log.EventEntryAdded)
		if !ok || entry.Entry.Level != log.EntryLevelError || strings.Contains(entry.Entry.Text,
			"the server responded with") {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		texts = append(texts, entry.Entry.Text)
	})
	if err != nil {
		b.Fatal(err)
	}
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return texts
	}
}
