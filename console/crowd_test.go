package console_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwitmq/godwit/console"
	"github.com/godwitmq/godwit/console/internal/crowd"
	"github.com/godwitmq/godwit/internal/fullrun"
)

func newCrowd(t testing.TB) crowd.Crowd {
	t.Helper()
	b, err := crowd.New(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// crowdPages are the pages that grow with the number of channels or messages.
var crowdPages = []string{
	"/", "/?page=10", "/map", "/costs", crowd.Dead,
	crowd.Dead + "&filter=all",
	"/channel/channel-with-a-long-name-0007@dlq/messages?look=100000", "/channel/channel-with-a-long-name-0007",
}

// With a thousand channels and a hundred thousand dead letters, after six hours, every page has at most 150 KB before
// compression, and the console uses at most 150 MB.
func TestCrowd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newCrowd(t)
		before := heap()
		c, err := console.New(b, &console.Options{Level: console.LevelAct})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(context.Background())
		w := &world{T: t, b: b, c: c, as: &http.Header{}}
		for range fullrun.Pick(10, 40) {
			w.get("/")
			time.Sleep(9 * time.Minute)
		}
		w.says(w.get("/"), "1 of 1\u2009000 channels needs attention", "page 1 of 10", "100\u2009000 dead letters")
		w.says(w.get("/?page=10"), "channel-with-a-long-name-0999")
		for _, path := range crowdPages {
			page := w.get(path)
			var zipped bytes.Buffer
			z, _ := gzip.NewWriterLevel(&zipped, gzip.BestSpeed)
			_, _ = z.Write([]byte(page))
			_ = z.Close()
			t.Logf("%s has %d bytes, %d compressed", path, len(page), zipped.Len())
			if len(page) > crowd.Page {
				t.Errorf("%s has %d bytes", path, len(page))
			}
		}
		w.says(w.get(crowdPages[4]), "100\u2009000 dead letters in 20 groups", "6 smaller groups")
		used := heap() - before
		t.Logf("the console uses %.1f MiB", float64(used)/(1<<20))
		if used > crowd.Heap {
			t.Errorf("the console uses %d bytes", used)
		}
	})
}

// heap is how many bytes are in use.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// crowdConsole is a console that has looked at the crowd.
func crowdConsole(b *testing.B) *console.Console {
	c, err := console.New(newCrowd(b), &console.Options{Level: console.LevelAct, Requests: 1_000_000})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = c.Close(context.Background()) })
	for !strings.Contains(crowdGet(b, c, "/").Body.String(), "need") {
		time.Sleep(10 * time.Millisecond) // the first look is under way
	}
	return c
}

func crowdGet(b *testing.B, c *console.Console, path string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(b.Context(), "GET", "http://127.0.0.1"+path, nil)
	r.RemoteAddr = "127.0.0.1:1"
	w := httptest.NewRecorder()
	c.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		b.Fatal(w.Code, w.Body)
	}
	return w
}

// BenchmarkCrowd renders the pages of a thousand channels and a hundred thousand dead letters. Until the first paint,
// a browser has 300 ms for this, the way of the page, and itself.
func BenchmarkCrowd(b *testing.B) {
	c := crowdConsole(b)
	for _, path := range crowdPages {
		b.Run(path, func(b *testing.B) {
			crowdGet(b, c, path) // the look at the messages
			for b.Loop() {
				b.SetBytes(int64(crowdGet(b, c, path).Body.Len()))
			}
		})
	}
}

// BenchmarkCrowdLook looks at a hundred thousand dead letters: each time another selection, so that none is kept.
func BenchmarkCrowdLook(b *testing.B) {
	c := crowdConsole(b)
	n := 0
	for b.Loop() {
		n++
		crowdGet(b, c, fmt.Sprintf("%s&filter=newer:%dh", crowd.Dead, n+1))
	}
}

// BenchmarkCrowdUpdate is an update of the page of a thousand channels: an event of its stream, of which 100 ms may
// pass until a browser has it. It includes that the stream is opened.
func BenchmarkCrowdUpdate(b *testing.B) {
	server := httptest.NewServer(crowdConsole(b))
	b.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	for b.Loop() {
		ctx, cancel := context.WithCancel(b.Context())
		r, err := http.NewRequestWithContext(ctx, "GET", server.URL+"/", nil)
		if err != nil {
			b.Fatal(err)
		}
		r.Header.Set("Accept", "text/event-stream")
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			b.Fatal(err)
		}
		lines := bufio.NewReader(answer.Body)
		for line := "."; line != "\n"; { // an event ends with an empty line
			if line, err = lines.ReadString('\n'); err != nil {
				b.Fatal(err)
			}
		}
		cancel()
		_ = answer.Body.Close()
	}
}
