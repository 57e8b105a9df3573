package console

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

const (
	// streamEvery is how often a page without a change of its own is looked at again.
	streamEvery = 10 * time.Second
	// streamLeast is the shortest time between two events, so that a fast run does not keep browsers busy.
	streamLeast = 500 * time.Millisecond
	// streamLasts ends a stream, which its browser opens again: a person's rights are then checked again.
	streamLasts = 15 * time.Minute
)

// part is one element of a page, as an event carries it.
type part struct {
	ID   string `json:"id"`
	HTML string `json:"html"`
}

// stream sends the parts of a page that have changed, until the browser leaves.
func (c *Console) stream(w http.ResponseWriter, r *request, page func(r *request) (*view, error)) {
	select {
	case c.streams <- struct{}{}:
		defer func() { <-c.streams }()
	default:
		http.Error(w, "too many pages are open", http.StatusServiceUnavailable)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), streamLasts)
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)()
	out := newEvents(w, r)
	defer out.close()
	r.streams = true
	sent, original := map[string]string{}, r.Request
	for ctx.Err() == nil {
		looking, done := context.WithTimeout(ctx, pageTakes)
		r.Request = original.WithContext(looking)
		v, err := page(r)
		var parts []part
		if err == nil {
			parts, err = c.parts(v, sent)
		}
		done()
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			err = out.send("problem", err.Error())
		} else {
			err = out.send("parts", parts)
		}
		if err != nil {
			return
		}
		var changed <-chan struct{}
		if v != nil {
			changed = v.changed
		}
		await(ctx, changed)
	}
}

// await waits for a change, at least streamLeast and at most streamEvery.
func await(ctx context.Context, changed <-chan struct{}) {
	least, most := time.NewTimer(streamLeast), time.NewTimer(streamEvery)
	defer least.Stop()
	defer most.Stop()
	select {
	case <-least.C:
	case <-ctx.Done():
		return
	}
	select {
	case <-changed:
	case <-most.C:
	case <-ctx.Done():
	}
}

// parts renders what is live of a page, and returns what differs from what was sent.
func (c *Console) parts(v *view, sent map[string]string) (all []part, err error) {
	for _, name := range v.live {
		var text bytes.Buffer
		if err := c.pages.ExecuteTemplate(&text, name, v.data); err != nil {
			return nil, err
		}
		if html := text.String(); html != sent[name] {
			sent[name] = html
			all = append(all, part{name, html})
		}
	}
	return all, nil
}

// events writes events.
type events struct {
	to    io.Writer
	zip   *gzip.Writer // nil: not compressed
	flush func() error
}

func newEvents(w http.ResponseWriter, r *request) *events {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // a proxy would wait for more
	e := &events{to: w}
	control := http.NewResponseController(w)
	_ = control.SetWriteDeadline(time.Time{}) // a server without deadlines has none to remove
	e.flush = control.Flush
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		w.Header().Set("Content-Encoding", "gzip")
		e.zip, _ = gzip.NewWriterLevel(w, gzip.BestSpeed) // the level exists
		e.to = e.zip
	}
	return e
}

// send sends an event.
func (e *events) send(name string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(e.to, "event: %s\ndata: %s\n\n", name, text); err != nil {
		return err
	}
	if e.zip != nil {
		err = e.zip.Flush()
	}
	return errors.Join(err, e.flush())
}

func (e *events) close() {
	if e.zip != nil {
		_ = e.zip.Close() // the browser has left
	}
}
