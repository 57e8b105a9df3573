package console

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/godwitmq/godwit/console/internal/chart"
	"github.com/godwitmq/godwit/console/internal/filter"
	"github.com/godwitmq/godwit/console/internal/runs"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops"
)

// wish is the form of an action on messages.
type wish struct {
	kind, channel, to, edit string
	filter                  *filter.Filter // nil for a purge
	rate                    float64
	most, deaths            int
	shared, alone           bool
}

// planAction plans an action on messages, which only counts, and leads to the page of the run.
func planAction(r *request) (string, error) {
	w, err := r.wish()
	if err != nil {
		return "", err
	}
	if _, err := ops.Find(r.Context(), r.c.b, w.channel); err != nil {
		return "", err
	}
	p := &runs.Plan{Kind: w.kind, Channel: w.channel, What: w.words(), By: r.name, Changes: true}
	switch w.kind {
	case "requeue":
		o, err := r.requeue(w)
		if err != nil {
			return "", err
		}
		p.Count, p.Do = r.c.requeuing(w.channel, o)
	case "discard":
		p.Count, p.Do = r.c.discarding(w)
	case "export":
		p.Changes = false
		p.Count, p.Do = r.c.exporting(w)
	case "purge":
		p.Count, p.Do = r.c.purging(w)
	}
	run, err := r.c.runs.Plan(p)
	if err != nil {
		return "", err
	}
	return r.c.url("runs", run.ID), nil
}

// wish reads the form of an action.
func (r *request) wish() (*wish, error) {
	w := &wish{
		kind: r.PostFormValue("kind"), channel: r.PathValue("name"), to: strings.TrimSpace(r.PostFormValue("to")),
		edit: strings.TrimSpace(r.PostFormValue("edit")), shared: r.PostFormValue("shared") != "",
		alone: r.PostFormValue("alone") != "",
	}
	switch w.kind {
	case "requeue", "discard", "export":
	case "purge":
		return w, nil
	default:
		return nil, bad(fmt.Sprintf("there is no action %q: use requeue, discard, export or purge",
			chart.Plain(w.kind, 40)))
	}
	var err error
	if w.filter, err = r.filter(r.PostFormValue("filter")); err != nil {
		return nil, err
	}
	if w.filter.All && w.kind == "discard" {
		return nil, bad("discard takes a filter that selects some: purge the channel to delete all messages")
	}
	if w.rate, err = number(r.PostFormValue("rate")); err != nil {
		return nil, bad("the rate: " + err.Error())
	}
	most, err := number(r.PostFormValue("most"))
	if err != nil {
		return nil, bad("the number of messages: " + err.Error())
	}
	deaths, err := number(r.PostFormValue("deaths"))
	if err != nil {
		return nil, bad("the number of deaths: " + err.Error())
	}
	w.most, w.deaths = int(most), int(deaths)
	if w.deaths == 0 {
		w.deaths = -1
	}
	if w.kind == "export" && len(r.c.o.Mask.Paths)+len(r.c.o.Mask.Headers) > 0 {
		return nil, &problem{
			status: http.StatusForbidden, title: "Nothing is exported",
			err: errors.New("parts of messages are hidden here, and an export has them whole"),
		}
	}
	return w, nil
}

// number reads a number that may be left out.
func number(text string) (float64, error) {
	if text = strings.TrimSpace(text); text == "" {
		return 0, nil
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || n < 0 || n > 1e9 {
		return 0, fmt.Errorf("%q is no number from 0 on", chart.Plain(text, 40))
	}
	return n, nil
}

// words says what is selected.
func (w *wish) words() string {
	if w.filter == nil {
		return "all messages"
	}
	text := w.filter.Text
	if w.to != "" {
		text += ", to " + w.to
	}
	if w.edit != "" {
		text += ", edited"
	}
	if w.most > 0 {
		text += fmt.Sprintf(", at most %d", w.most)
	}
	if w.rate > 0 {
		text += fmt.Sprintf(", %g a second", w.rate)
	}
	return text
}

// requeue makes the options of a requeue.
func (r *request) requeue(w *wish) (*ops.RequeueOptions, error) {
	o := &ops.RequeueOptions{
		To: w.to, Alone: w.alone, Select: w.filter.Selection, MaxDeaths: w.deaths, Most: w.most, PerSecond: w.rate,
		Journal: r.c.journal(w.channel, w.to),
	}
	if w.edit == "" {
		return o, nil
	}
	if r.c.o.Expression == nil {
		return nil, bad("this console has no expressions, so it cannot edit several messages")
	}
	e, err := r.c.o.Expression(w.edit)
	if err != nil {
		return nil, &problem{
			status: http.StatusBadRequest, title: "The edit does not parse", detail: err.Error(),
			err: errors.New("the expression of the edit does not parse"),
		}
	}
	o.Edit = e.Edit
	return o, nil
}

// journal is the file of requeues from a channel to another; one runs at a time.
func (c *Console) journal(from, to string) string {
	return filepath.Join(c.folder, "requeue-"+url.PathEscape(from)+"-"+url.PathEscape(to)+".journal")
}

// editAction plans to requeue one message with another body.
func editAction(r *request) (string, error) {
	c, name, id := r.c, r.PathValue("name"), r.PathValue("id")
	if err := r.ParseForm(); err != nil || !r.PostForm.Has("body") {
		return "", bad("the form has no body, or is larger than 4 MiB")
	}
	if len(c.o.Mask.Paths) > 0 {
		return "", bad("parts of bodies are hidden here, so bodies cannot be edited")
	}
	body := strings.ReplaceAll(r.PostForm.Get("body"), "\r\n", "\n") // forms have other line breaks
	o := &ops.RequeueOptions{
		Select: ops.Selection{IDs: []string{id}}, MaxDeaths: -1, Edit: func([]byte) ([]byte,
			error,
		) {
			return []byte(body), nil
		},
		Journal: c.journal(name, ""),
	}
	p := &runs.Plan{
		Kind: "requeue", Channel: name, What: "id:" + filter.Quote(id) + ", with another body", By: r.name,
		Changes: true,
	}
	p.Count, p.Do = c.requeuing(name, o)
	run, err := c.runs.Plan(p)
	if err != nil {
		return "", err
	}
	return c.url("runs", run.ID), nil
}

// requeuing is the work of a requeue.
func (c *Console) requeuing(channel string, o *ops.RequeueOptions) (count, do runs.Work) {
	work := func(dry bool) runs.Work {
		return func(ctx context.Context, tell func(runs.Progress)) (runs.Progress, error) {
			one := *o
			one.Dry = dry
			one.Progress = func(r *ops.RequeueResult) { tell(requeued(r, dry)) }
			r, err := ops.Requeue(ctx, c.b, channel, &one)
			return unseen(requeued(r, dry), err)
		}
	}
	return work(true), work(false)
}

// requeued tells how far a requeue is.
func requeued(r *ops.RequeueResult, dry bool) runs.Progress {
	p := runs.Progress{Done: r.Looked, Total: r.Waiting, Count: r.Moved}
	name := "sent to " + r.To
	if dry {
		name = "would go to " + r.To
	}
	p.Lines = []runs.Line{{Name: name, Value: plainCount(r.Moved)}, {Name: "looked at", Value: plainCount(r.Looked)}}
	add := func(name string, n int64) {
		if n > 0 {
			p.Lines = append(p.Lines, runs.Line{Name: name, Value: plainCount(n)})
		}
	}
	add("edited", r.Edited)
	add("had expired, and expires again", r.Expired)
	add("stay: not selected", r.Stay.NotSelected)
	add("stay: died too often", r.Stay.TooOften)
	add("stay: refused", r.Stay.Refused)
	add("stay: behind one of their key", r.Stay.Behind)
	add("stay: more than wanted", r.Stay.TooMany)
	add("stay: died later", r.Stay.Later)
	add("not seen", r.Stay.Unlooked)
	if r.Shared {
		p.Notes = append(p.Notes, r.Address+" is shared: other consumers get the messages as well.")
	}
	for _, err := range r.Refused {
		p.Notes = append(p.Notes, "Stays: "+err.Error())
	}
	if n := int64(len(r.Doubled)); n > 0 {
		p.Notes = append(p.Notes, plural(n, "message")+" may be in "+r.To+" twice; the journal names them.")
	}
	if s := r.Sample; s != nil && dry {
		p.Notes = append(p.Notes, "Before: "+chart.Plain(string(s.Before[:min(len(s.Before), cutTo)]), glimpseMost),
			"After: "+chart.Plain(string(s.After[:min(len(s.After), cutTo)]), glimpseMost))
	}
	return p
}

// plainCount is a number for texts outside of templates.
func plainCount(n int64) string { return count(n) }

// discarding is the work of a discard.
func (c *Console) discarding(w *wish) (count, do runs.Work) {
	work := func(dry bool) runs.Work {
		return func(ctx context.Context, tell func(runs.Progress)) (runs.Progress, error) {
			progress := func(r *ops.DiscardResult) runs.Progress {
				p := runs.Progress{Done: r.Looked, Total: r.Waiting, Count: r.Discarded}
				name := "deleted"
				if dry {
					name = "would be deleted"
				}
				p.Lines = []runs.Line{
					{Name: name, Value: plainCount(r.Discarded)},
					{Name: "looked at", Value: plainCount(r.Looked)},
				}
				if r.Unread > 0 {
					p.Lines = append(p.Lines, runs.Line{Name: "stay: cannot be read", Value: plainCount(r.Unread)})
				}
				return p
			}
			r, err := ops.Discard(ctx, c.b, w.channel, &ops.DiscardOptions{
				Select: w.filter.Selection, Most: w.most, PerSecond: w.rate, Dry: dry,
				Progress: func(r *ops.DiscardResult) { tell(progress(r)) },
			})
			return unseen(progress(r), err)
		}
	}
	return work(true), work(false)
}

// unseen turns the error that some messages were not seen into a note: what was seen is counted, or done.
func unseen(p runs.Progress, err error) (runs.Progress, error) {
	var e *ops.UnseenError
	if errors.As(err, &e) {
		p.Notes = append(p.Notes, "Not all messages were seen: "+e.Error())
		return p, nil
	}
	return p, err
}

// purging is the work of a purge.
func (c *Console) purging(w *wish) (count, do runs.Work) {
	work := func(dry bool) runs.Work {
		return func(ctx context.Context, _ func(runs.Progress)) (runs.Progress, error) {
			r, err := ops.Purge(ctx, c.b, w.channel, &ops.PurgeOptions{Dry: dry, Shared: w.shared})
			p := runs.Progress{Done: r.Messages, Total: r.Messages, Count: r.Messages}
			name := "deleted, approximately"
			if dry {
				p.Done, name = 0, "would be deleted, approximately"
			}
			p.Lines = []runs.Line{{Name: name, Value: plainCount(r.Messages)}}
			for _, other := range r.Others {
				p.Notes = append(p.Notes, other+" loses them as well.")
			}
			return p, err
		}
	}
	return work(true), work(false)
}

// exporting is the work of an export.
func (c *Console) exporting(w *wish) (count, do runs.Work) {
	count = func(ctx context.Context, _ func(runs.Progress)) (p runs.Progress, err error) {
		info, err := ops.Find(ctx, c.b, w.channel)
		if err != nil {
			return p, err
		}
		p.Notes = []string{"The messages stay where they are. Where the service can only receive, each is received once."}
		if inspect := driver.OperationsOf(c.b).Inspect; inspect != nil {
			d, err := inspect(ctx, info.Channel)
			if err != nil {
				return p, err
			}
			p.Lines = []runs.Line{{Name: "in the channel", Value: plainCount(d.All())}}
			p.Total = d.All()
		}
		return p, nil
	}
	do = func(ctx context.Context, tell func(runs.Progress)) (p runs.Progress, err error) {
		f, err := os.CreateTemp(c.folder, "export-*.jsonl")
		if err != nil {
			return p, err
		}
		lines := &lineCounter{to: f, tell: func(n int64) {
			tell(runs.Progress{Done: n, Count: n, Lines: []runs.Line{{Name: "written", Value: plainCount(n)}}})
		}}
		n, err := ops.Export(ctx, c.b, w.channel, lines, &ops.ExportOptions{
			Select: w.filter.Selection, Most: w.most, Receive: true,
		})
		p = runs.Progress{
			Done: int64(n), Total: int64(n), Count: int64(n), Lines: []runs.Line{{
				Name:  "written",
				Value: plainCount(int64(n)),
			}},
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return p, errors.Join(err, os.Remove(f.Name()))
		}
		p.File = f.Name()
		return p, nil
	}
	return count, do
}

// lineCounter counts the lines of an export.
type lineCounter struct {
	to   *os.File
	n    int64
	tell func(n int64)
}

func (l *lineCounter) Write(p []byte) (int, error) {
	n, err := l.to.Write(p)
	if l.n++; l.n%100 == 0 {
		l.tell(l.n)
	}
	return n, err
}

func quoted(id string) string { return filter.Quote(id) }
