package console

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/godwitmq/godwit/console/internal/chart"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops"
)

// event is something that has happened to a message.
type event struct {
	At    time.Time // zero: unknown
	What  string
	More  string
	Class string
}

// header is a header of a message.
type header struct{ Name, Value string }

// messageData is what the page of a message shows.
type messageData struct {
	Tabs               *tabs
	Name               string
	Entry              *ops.Entry
	Kind, Reason       string
	Events             []event
	Headers            []header
	Body               *shown
	Stored             bool // the body is in the store, and was not read
	BodyErr            error
	Size               int64
	Forms              []link
	Fetch, Download    string
	Plan, Edit         string
	Dead, May, CanEdit bool
	Trace, TraceHref   string
	Select, GroupHref  string
	Text               string // that can be edited
}

// messagePage shows the life of a message.
func messagePage(r *request) (*view, error) {
	c, name, id := r.c, r.PathValue("name"), r.PathValue("id")
	e, err := entryOf(r, name, id)
	if err != nil {
		return nil, err
	}
	seen, _ := c.watch.last(r.Context())
	dead := strings.HasSuffix(name, "@dlq")
	here := "messages"
	if dead {
		here = "dead"
	}
	d := &messageData{
		Tabs: tabsOf(c, name, here, seen), Name: name, Entry: e, Kind: e.Kind(), Reason: e.Reason(), Dead: dead,
		May: r.may >= LevelAct, Size: max(e.Size, int64(len(e.Delivery.Body))), Trace: e.Raw.Trace,
		Plan: c.url("channel", name, "plan"), Edit: c.url("channel", name, "messages", id, "edit"),
		Select: "id:" + quoted(id),
		Fetch:  r.with("body", "whole"), Download: c.url("channel", name, "messages", id, "body"),
		GroupHref: c.url("channel", name, "dead") + "?filter=group:" + e.Group(),
	}
	for _, h := range e.Header {
		value := c.o.Mask.header(h.Name, h.Value)
		d.Headers = append(d.Headers, header{h.Name, value})
		if strings.EqualFold(h.Name, "traceparent") {
			d.Trace = value
		}
	}
	d.TraceHref = traceHref(c.o.Traces, d.Trace)
	d.Events = life(e)
	if e.Opener != nil && r.FormValue("body") != "whole" {
		d.Stored = true
	} else if body, err := e.Content(r.Context()); err != nil {
		d.BodyErr = err
	} else {
		d.Body = showBody(&c.o.Mask, body, r.FormValue("form"))
		for _, form := range d.Body.Forms {
			d.Forms = append(d.Forms, link{r.with("form", form), form})
		}
		d.CanEdit = d.May && dead && d.Body.Cut == 0 && !d.Body.Masked && d.Body.Hidden == "" && textual(body)
		if d.CanEdit = d.CanEdit && !bytes.ContainsRune(body, '\r'); d.CanEdit { // a form has other line breaks
			d.Text = string(body)
		}
	}
	return &view{title: id, name: "message", nav: "now", data: d}, nil
}

// traceMark stands for the id of a trace in Options.Traces.
const traceMark = "{trace}"

// checkTraces checks Options.Traces.
func checkTraces(address string) error {
	u, err := url.Parse(address)
	web := err == nil && (u.Scheme == "http" || u.Scheme == "https")
	if address != "" && (!web || !strings.Contains(address, traceMark)) {
		return fmt.Errorf("console: Options.Traces is %q: it must be an address of http or https with %s in it", address,
			traceMark)
	}
	return nil
}

// traceForms are the forms in which messages name their trace: that of W3C, and that of X-Ray.
var traceForms = regexp.MustCompile(`^(?:[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-|` +
	`Root=(1-[0-9a-f]{8}-[0-9a-f]{24})(?:;|$))`)

// traceHref is the address of a message's trace; "": there is none.
func traceHref(address, trace string) string {
	id := traceForms.FindStringSubmatch(trace)
	if address == "" || id == nil {
		return ""
	}
	return strings.ReplaceAll(address, traceMark, id[1]+id[2])
}

// life lists what is known of a message's way.
func life(e *ops.Entry) (all []event) {
	sent := event{At: e.First, What: "sent", Class: "ok"}
	if sent.At.IsZero() {
		sent.At = e.SentAt
	}
	if o := e.Origin; o != nil {
		if !undated(e) && !sent.At.Before(o.Death.Last) { // it is when it came to the dead letters
			sent.At = time.Time{}
		}
		all = append(all, sent)
		for i, id := range o.Earlier {
			all = append(all, event{
				What: fmt.Sprintf("died (%d)", i+1),
				More: "as message " + id + ", and was requeued", Class: "warn",
			})
		}
		if d := o.Death; !d.First.IsZero() && !d.First.Equal(d.Last) {
			all = append(all, event{At: d.First, What: "failed first", Class: "warn"})
		}
		if n := o.Death.Attempts; n > 0 {
			all = append(all, event{What: plural(int64(n), "attempt"), More: consumerOf(o), Class: "warn"})
		}
		died := event{At: o.Death.Last, What: "died: " + kindOf(e.Kind()), More: e.Reason(), Class: "bad"}
		if undated(e) && died.More == "" {
			died.More = "the service has moved it to the dead letters, and does not tell when"
		}
		all = append(all, died)
		if e.SentAt.After(o.Death.Last) && !undated(e) {
			all = append(all, event{At: e.SentAt, What: "came to the dead letters", Class: "plain"})
		}
	} else {
		all = append(all, sent)
		if e.SentAt.After(sent.At) {
			all = append(all, event{At: e.SentAt, What: "sent again", Class: "plain"})
		}
		if !e.Due.IsZero() {
			all = append(all, event{At: e.Due, What: "due", More: "it was sent with a delay", Class: "plain"})
		}
		if !e.FirstFailure.IsZero() {
			all = append(all, event{At: e.FirstFailure, What: "failed first", Class: "warn"})
		}
		if n := e.Attempts(); n > 0 {
			all = append(all, event{What: plural(int64(n), "attempt"), Class: "warn"})
		}
	}
	if n := e.Received; n > 0 {
		all = append(all, event{
			What: "received " + times(n), More: "an upper bound on its attempts here",
			Class: "plain",
		})
	}
	if !e.LeaseEnds.IsZero() && e.LeaseEnds.After(time.Now()) {
		all = append(all, event{At: e.LeaseEnds, What: "lease ends", More: "a consumer holds it", Class: "plain"})
	}
	return append(all, event{At: time.Now(), What: "now", More: "it waits", Class: "now"})
}

func times(n int32) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

func consumerOf(o *driver.Origin) string {
	if o.Death.Consumer == "" {
		return ""
	}
	return "by " + o.Death.Consumer
}

func kindOf(kind string) string {
	if kind == "" {
		return "the service gave no reason"
	}
	return kind
}

// entryOf looks up a message.
func entryOf(r *request, name, id string) (*ops.Entry, error) {
	info, err := ops.Find(r.Context(), r.c.b, name)
	if err != nil {
		return nil, err
	}
	gone := &problem{
		status: http.StatusNotFound, title: "The message is not there any more",
		href: r.c.url("channel", name, "messages"),
		link: "Messages of " + name, err: fmt.Errorf("no message %s is in %s: it was handled, requeued or deleted meanwhile",
			chart.Plain(id, 120), name),
	}
	if peek := driver.OperationsOf(r.c.b).Peek; peek != nil {
		page, err := peek(r.Context(), info.Channel, driver.PeekFrom{ID: id}, 1)
		switch {
		case err == nil && len(page) > 0 && page[0].Delivery.ID == id:
			return &ops.Entry{Delivery: page[0].Delivery, Raw: page[0].Raw}, nil
		case err == nil, driver.ClassOf(err) == driver.NotFound:
			return nil, gone
		case !errors.Is(err, errors.ErrUnsupported):
			return nil, err
		}
	}
	if e := r.c.scans.entry(name, id); e != nil {
		return e, nil
	}
	gone.title = "The message cannot be looked up"
	gone.err = errors.New("the service can only receive messages: look at the channel first, and choose the message there")
	return nil, gone
}

// entry returns a message of the last looks that have received; nil: none has it.
func (s *scans) entry(channel, id string) *ops.Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := len(s.keep) - 1; i >= 0; i-- {
		found := s.keep[i].scan
		if found == nil || found.Channel.Channel.String() != channel {
			continue
		}
		for k := range found.Found {
			if f := &found.Found[k]; f.ID == id && f.entry != nil {
				one := *f.entry
				return &one
			}
		}
	}
	return nil
}

// bodyFile serves the whole body as a file.
func bodyFile(w http.ResponseWriter, r *request) error {
	if len(r.c.o.Mask.Paths) > 0 {
		return &problem{
			status: http.StatusForbidden, title: "Bodies are not served whole",
			err: errors.New("parts of bodies are hidden here"),
		}
	}
	e, err := entryOf(r, r.PathValue("name"), r.PathValue("id"))
	if err != nil {
		return err
	}
	body, err := e.Content(r.Context())
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", `attachment; filename="body"`)
	w.Header().Set("Content-Security-Policy", "sandbox; default-src 'none'")
	r.c.write(w, r, http.StatusOK, body)
	return nil
}
