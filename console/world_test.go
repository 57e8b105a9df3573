package console_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwitmq/godwit/console"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/local"
)

var (
	orders = driver.Channel{Queue: "orders"}
	mails  = driver.Channel{Queue: "mails"}
	audit  = driver.Channel{Exchange: "events", Queue: "audit", Ordered: true}
)

// world is a console on the embedded server, in a bubble.
type world struct {
	*testing.T
	local *local.Backend
	b     driver.Backend // that the console has
	c     *console.Console
	as    *http.Header // added to every request
}

// inWorld runs a test with a console. wrap wraps the backend; nil: it does not.
func inWorld(t *testing.T, o *console.Options, f func(w *world)) {
	t.Helper()
	inWrapped(t, o, func(b driver.Backend) driver.Backend { return b }, f)
}

func inWrapped(t *testing.T, o *console.Options, wrap func(b driver.Backend) driver.Backend, f func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b, err := local.Open(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := b.Close(context.Background()); err != nil {
				t.Error(err)
			}
		}()
		w := &world{T: t, local: b, b: wrap(b), as: &http.Header{}}
		for _, ch := range []driver.Channel{orders, mails, audit} {
			w.ensure(ch, nil)
		}
		if o.Level == 0 {
			o.Level = console.LevelAct
		}
		if w.c, err = console.New(w.b, o); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := w.c.Close(context.Background()); err != nil {
				t.Error(err)
			}
		}()
		f(w)
	})
}

func (w *world) ensure(ch driver.Channel, tags map[string]string) {
	w.Helper()
	if err := w.local.Ensure(w.Context(), driver.ChannelSpec{Channel: ch, Owner: true, Tags: tags}); err != nil {
		w.Fatal(err)
	}
}

// send sends messages.
func (w *world) send(ch driver.Channel, ms ...driver.Message) {
	w.Helper()
	s, err := w.local.Sender(w.Context(), ch)
	if err != nil {
		w.Fatal(err)
	}
	for i := range ms {
		p, err := s.Prepare(w.Context(), &ms[i])
		if err == nil {
			err = s.Send(w.Context(), []driver.Prepared{p})
		}
		if err != nil {
			w.Fatal(err)
		}
	}
	if err := s.Close(w.Context()); err != nil {
		w.Fatal(err)
	}
}

// kill sends messages with the bodies to orders, and rejects them.
func (w *world) kill(death driver.Death, bodies ...string) {
	w.Helper()
	for _, body := range bodies {
		w.send(orders, driver.Message{
			Body: []byte(body), Type: "order",
			Header: []driver.Header{{Name: "tenant", Value: "globex"}},
		})
	}
	w.each(orders, len(bodies), func(*driver.Delivery) driver.Settlement {
		return driver.Settlement{Action: driver.Reject, Death: &death}
	})
}

// each receives n messages, and settles them.
func (w *world) each(ch driver.Channel, n int, settle func(d *driver.Delivery) driver.Settlement) (bodies []string) {
	w.Helper()
	r, err := w.local.Receiver(w.Context(), ch, driver.ReceiverOptions{Concurrency: 10, Wait: time.Second})
	if err != nil {
		w.Fatal(err)
	}
	for len(bodies) < n {
		ds, err := r.Receive(w.Context(), driver.Ask{Max: min(10, n-len(bodies))}, nil)
		if err != nil {
			w.Fatal(err)
		}
		if len(ds) == 0 {
			break
		}
		batch := make([]driver.Settlement, len(ds))
		for i := range ds {
			batch[i] = settle(&ds[i])
			batch[i].Handle = ds[i].Handle
			bodies = append(bodies, string(ds[i].Body))
		}
		if err := r.Settle(w.Context(), batch); err != nil {
			w.Fatal(err)
		}
	}
	if err := r.Close(w.Context()); err != nil {
		w.Fatal(err)
	}
	return bodies
}

// take takes at most a hundred messages out of a channel.
func (w *world) take(ch driver.Channel) []string {
	w.Helper()
	return w.each(ch, 100, func(*driver.Delivery) driver.Settlement { return driver.Settlement{} })
}

// answer is what the console has answered.
type answer struct {
	status int
	header http.Header
	body   string
}

// do makes a request of this machine.
func (w *world) do(method, path string, form url.Values, edit ...func(r *http.Request)) answer {
	w.Helper()
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	r := httptest.NewRequestWithContext(w.Context(), method, "http://127.0.0.1"+path, body)
	r.RemoteAddr = "127.0.0.1:4321"
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	maps.Copy(r.Header, *w.as)
	for _, f := range edit {
		f(r)
	}
	recorder := httptest.NewRecorder()
	w.c.ServeHTTP(recorder, r)
	a := answer{recorder.Code, recorder.Header(), recorder.Body.String()}
	if a.header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(bytes.NewReader(recorder.Body.Bytes()))
		if err != nil {
			w.Fatal(err)
		}
		text, err := io.ReadAll(z)
		if err != nil {
			w.Fatal(err)
		}
		a.body = string(text)
	}
	return a
}

// get gets a page.
func (w *world) get(path string) string {
	w.Helper()
	a := w.do("GET", path, nil)
	if a.status != http.StatusOK {
		w.Fatalf("GET %s: %d\n%.3000s", path, a.status, a.body)
	}
	return a.body
}

// post sends a form, and returns where it leads.
func (w *world) post(path string, pairs ...string) string {
	w.Helper()
	a := w.do("POST", path, values(pairs...))
	if a.status != http.StatusSeeOther {
		w.Fatalf("POST %s: %d\n%.3000s", path, a.status, a.body)
	}
	return a.header.Get("Location")
}

// refused checks that a request is refused, and that the page says why.
func (w *world) refused(a answer, status int, says ...string) {
	w.Helper()
	if a.status != status {
		w.Errorf("the status is %d, want %d: %.2000s", a.status, status, a.body)
	}
	w.says(a.body, says...)
}

func values(pairs ...string) url.Values {
	form := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		form.Add(pairs[i], pairs[i+1])
	}
	return form
}

// says checks that a page has texts.
func (w *world) says(page string, texts ...string) {
	w.Helper()
	for _, text := range texts {
		if !strings.Contains(page, text) {
			w.Errorf("the page does not say %q:\n%.4000s", text, main(page))
		}
	}
}

// silent checks that a page does not have texts.
func (w *world) silent(page string, texts ...string) {
	w.Helper()
	for _, text := range texts {
		if strings.Contains(page, text) {
			w.Errorf("the page says %q:\n%.4000s", text, main(page))
		}
	}
}

// settled waits until the page of a run does not change any more.
func (w *world) settled(path string) string {
	w.Helper()
	for range 600 {
		page := w.get(path)
		if !strings.Contains(page, ">counting<") && !strings.Contains(page, ">running<") {
			return page
		}
		time.Sleep(time.Second)
	}
	w.Fatalf("%s does not end", path)
	return ""
}

func bodies(n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf(`{"n":%d}`, i))
	}
	return all
}

var noStock = driver.Death{Error: "no stock for article 17", Kind: "exhausted", Consumer: "shop-1", Attempts: 3}

// main is what is special of a page, without its pictures.
func main(page string) string {
	_, text, found := strings.Cut(page, "<main")
	if !found {
		return page
	}
	return regexp.MustCompile(`(?s)<svg.*?</svg>|\n\s*`).ReplaceAllString(text, "\n")
}
