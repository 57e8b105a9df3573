package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/godwitmq/godwit/console/internal/chart"
	"github.com/godwitmq/godwit/console/internal/filter"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops"
)

const (
	// lookUsual and lookMost are how many messages a look reads: what a page asks for at first, and what it may ask
	// for.
	lookUsual = 2_000
	lookMost  = 100_000
	// receiveMost bounds a look that receives, because it hides what it has received for a moment.
	receiveMost = 1_000
	// lookTakes bounds the time of a look.
	lookTakes = 5 * time.Second
	// lookPage is how many messages are read at once: each may have a quarter of a megabyte.
	lookPage = 500
	// lookFresh is how old a look may be that is shown instead of another one.
	lookFresh = 2 * time.Second
	// foundMost is how many of the messages that match are kept, each without its body.
	foundMost = 1_000
	// glimpseMost is how many characters of a body or an error a list shows.
	glimpseMost = 240
	// scansMost is how many looks are kept.
	scansMost = 64
)

// scan is what a look at the messages of a channel has found. It does not change.
type scan struct {
	Channel  driver.ChannelInfo
	Filter   *filter.Filter // nil: all
	At       time.Time
	Took     time.Duration
	Looked   int
	Total    int64 // messages in the channel; negative: unknown
	Budget   int
	Complete bool // everything was looked at
	Received bool // by receiving
	Matched  int
	Unread   int // messages whose bodies could not be read
	Found    []found
	Groups   []group
	// Err is why the look ended early, or why the one after it failed.
	Err error
}

// found is a message that matches.
type found struct {
	ID, Group, Kind, Type, Error, Shape string
	OrderKey, RoutingKey                string
	Sent                                time.Time
	Died                                time.Time // when it was sent, if it is undated
	Undated                             bool      // a service has moved it to the dead letters, and does not tell when
	Attempts                            int32
	Size                                int64
	Stored                              bool // its body is in the store
	Glimpse                             string
	entry                               *ops.Entry // only of a look that receives
}

// group is messages that died of the same kind of error, with the times of their deaths.
type group struct {
	ops.Group
	died    []int64 // in seconds since 1970
	Undated bool    // they are those at which its messages were sent
}

// scans keeps the last looks.
type scans struct {
	b driver.Backend

	mu   sync.Mutex
	keep []*kept // the latest used last
}

// kept is a look at one selection, or the place of one.
type kept struct {
	key  string
	busy chan struct{} // has an element during the look
	scan *scan         // nil: none yet; guarded by the scans' lock
}

func newScans(b driver.Backend) *scans { return &scans{b: b} }

// place returns the place of a look.
func (s *scans) place(key string) *kept {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := slices.IndexFunc(s.keep, func(k *kept) bool { return k.key == key }); n >= 0 {
		k := s.keep[n]
		s.keep = append(slices.Delete(s.keep, n, n+1), k)
		return k
	}
	k := &kept{key: key, busy: make(chan struct{}, 1)}
	if s.keep = append(s.keep, k); len(s.keep) > scansMost {
		s.keep = slices.Delete(s.keep, 0, 1)
	}
	return k
}

func (s *scans) last(k *kept) *scan {
	s.mu.Lock()
	defer s.mu.Unlock()
	return k.scan
}

// want is what a look is asked for.
type want struct {
	channel string
	filter  *filter.Filter // nil: all
	budget  int
	receive bool // by receiving, where nothing else is possible
	mask    *Mask
}

func (w *want) key() string {
	text := ""
	if w.filter != nil {
		text = w.filter.Text
	}
	return fmt.Sprintf("%s\x00%s\x00%d", w.channel, text, w.budget)
}

// look looks at the messages of a channel, or returns a look that is fresh. If the service fails, the last look is
// returned with the error. ops.ErrMustReceive says that the service can only receive, and that nobody has allowed it.
func (s *scans) look(ctx context.Context, w *want) (*scan, error) {
	k := s.place(w.key())
	select {
	case k.busy <- struct{}{}:
		defer func() { <-k.busy }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	last := s.last(k)
	if last != nil && !w.receive && (last.Received || last.Err == nil &&
		time.Since(last.At) < lookFresh+4*last.Took) {
		return last, nil
	}
	found, err := s.read(ctx, w)
	switch {
	case err == nil:
	case last != nil && driver.ClassOf(err) != driver.NotFound:
		old := *last
		old.Err = err
		return &old, nil
	default:
		return nil, err
	}
	s.mu.Lock()
	k.scan = found
	s.mu.Unlock()
	return found, nil
}

// read makes a look.
func (s *scans) read(ctx context.Context, w *want) (*scan, error) {
	info, err := ops.Find(ctx, s.b, w.channel)
	if err != nil {
		return nil, err
	}
	if info.Channel.Queue == "" {
		return nil, &problem{
			status: 400, title: "An exchange keeps no messages", err: fmt.Errorf("look at one of the queues of %s",
				w.channel),
		}
	}
	r := &reading{want: w, scan: scan{Channel: info, Filter: w.filter, At: time.Now(), Budget: w.budget, Total: -1}}
	do := driver.OperationsOf(s.b)
	if do.Inspect != nil {
		if d, err := do.Inspect(ctx, info.Channel); err == nil {
			r.scan.Total = d.All()
		}
	}
	err = errors.ErrUnsupported
	if do.Peek != nil {
		err = r.pages(ctx, do.Peek)
	}
	if errors.Is(err, errors.ErrUnsupported) {
		if !w.receive {
			return nil, ops.ErrMustReceive
		}
		err = r.receive(ctx, s.b)
	}
	if err != nil {
		return nil, err
	}
	return r.done(), nil
}

// reading is one look.
type reading struct {
	*want
	scan   scan
	groups map[string]int
}

// pages reads without receiving, until the budget is used up.
func (r *reading) pages(ctx context.Context, peek func(context.Context, driver.Channel, driver.PeekFrom, int) (
	[]driver.Peeked, error),
) error {
	for from := (driver.PeekFrom{}); r.scan.Looked < r.budget; {
		n := min(lookPage, r.budget-r.scan.Looked)
		if from.ID != "" {
			n++ // the last one of the page before
		}
		page, err := peek(ctx, r.scan.Channel.Channel, from, n)
		switch {
		case err != nil && r.scan.Looked > 0:
			r.scan.Err = err // what was found is shown
			return nil
		case err != nil:
			return err
		}
		fresh := page
		if from.ID != "" && len(fresh) > 0 {
			fresh = fresh[1:]
		}
		for i := range fresh {
			r.see(ctx, &ops.Entry{Delivery: fresh[i].Delivery, Raw: fresh[i].Raw})
		}
		switch {
		case len(page) < n && from.ID != "" && int64(r.scan.Looked) < min(r.scan.Total, int64(r.budget)):
			r.scan.Err = r.whole(ctx, peek) // what was found is shown
			return nil
		case len(page) < n:
			r.scan.Complete = true
			return nil
		case time.Since(r.scan.At) > lookTakes:
			return nil
		}
		from.ID = page[len(page)-1].Delivery.ID
	}
	return nil
}

// whole reads all at once. In a log with several partitions, the page behind a message is only of its own.
func (r *reading) whole(ctx context.Context, peek func(context.Context, driver.Channel, driver.PeekFrom, int) (
	[]driver.Peeked, error),
) error {
	page, err := peek(ctx, r.scan.Channel.Channel, driver.PeekFrom{}, r.budget)
	if err != nil {
		return err
	}
	r.scan.Looked, r.scan.Matched, r.scan.Unread = 0, 0, 0
	r.scan.Found, r.scan.Groups, r.groups = nil, nil, nil
	for i := range page {
		r.see(ctx, &ops.Entry{Delivery: page[i].Delivery, Raw: page[i].Raw})
	}
	r.scan.Complete = len(page) < r.budget
	return nil
}

// receive receives messages and releases them.
func (r *reading) receive(ctx context.Context, b driver.Backend) error {
	most := min(r.budget, receiveMost)
	all, err := ops.Peek(ctx, b, r.channel, &ops.PeekOptions{Most: most, Receive: true})
	if err != nil && len(all) == 0 {
		return err
	}
	r.scan.Received, r.scan.Err = true, err
	for i := range all {
		r.see(ctx, &all[i])
	}
	r.scan.Complete = len(all) < most && r.scan.Total >= 0 && int64(len(all)) >= r.scan.Total
	return nil
}

// see looks at a message.
func (r *reading) see(ctx context.Context, e *ops.Entry) {
	r.scan.Looked++
	if r.filter != nil {
		selected, err := r.filter.Selection.Selects(ctx, e, r.scan.At)
		if err != nil {
			r.scan.Unread++
		}
		if err != nil || !selected {
			return
		}
	}
	r.scan.Matched++
	f := found{
		ID: e.ID, Group: e.Group(), Kind: e.Kind(), Type: e.Type, Error: chart.Plain(e.Reason(), glimpseMost),
		OrderKey: e.OrderKey, RoutingKey: e.RoutingKey, Sent: e.SentAt, Died: e.Died(), Undated: undated(e),
		Attempts: e.Attempts(),
		Size:     max(e.Size, int64(len(e.Delivery.Body))), Stored: e.Opener != nil,
	}
	r.group(e, &f)
	if len(r.scan.Found) >= foundMost {
		return
	}
	if !f.Stored {
		f.Glimpse = chart.Plain(glimpse(r.mask, e.Delivery.Body), glimpseMost)
	}
	if r.want.receive && f.Size <= showMost {
		one := *e
		f.entry = &one
	}
	r.scan.Found = append(r.scan.Found, f)
}

// group counts a message in its group.
func (r *reading) group(e *ops.Entry, f *found) {
	n, ok := r.groups[f.Group]
	if !ok {
		if r.groups == nil {
			r.groups = map[string]int{}
		}
		n = len(r.scan.Groups)
		r.groups[f.Group] = n
		one := ops.Groups([]ops.Entry{*e})[0]
		one.Count, one.First, one.Last = 0, f.Died, f.Died
		r.scan.Groups = append(r.scan.Groups, group{Group: one, Undated: f.Undated})
	}
	g := &r.scan.Groups[n]
	g.Count++
	g.died = append(g.died, f.Died.Unix())
	if f.Died.Before(g.First) {
		g.First = f.Died
	}
	if !f.Died.Before(g.Last) {
		g.Last, g.Error = f.Died, e.Reason()
	}
}

// undated reports whether a message is a dead letter of which nobody knows when it died: SQS moves messages by itself
// that were received too often, with the time at which they were sent.
func undated(e *ops.Entry) bool { return e.Origin != nil && e.Origin.Death.Last.IsZero() }

func (r *reading) done() *scan {
	slices.SortStableFunc(r.scan.Groups, func(a, b group) int { return cmp.Compare(b.Count, a.Count) })
	r.scan.Took = time.Since(r.scan.At)
	return &r.scan
}
