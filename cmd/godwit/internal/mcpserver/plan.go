package mcpserver

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"sync"
	"time"

	"github.com/godwitmq/godwit/cmd/godwit/internal/selection"
	"github.com/godwitmq/godwit/ops"
)

const (
	// planLasts is how long a token works.
	planLasts = 15 * time.Minute
	// plansMost bounds the plans that wait.
	plansMost = 20
	// namedMost is how many messages a plan names at most.
	namedMost = 10_000
)

// plan is a requeue that was counted.
type plan struct {
	channel string
	o       ops.RequeueOptions
	count   int64
	made    time.Time
}

// plans are the plans that wait, by token. One requeue runs at a time.
type plans struct {
	mu      sync.Mutex
	waiting map[string]plan
	running sync.Mutex
}

// add keeps a plan, and returns its token. The oldest plan is forgotten if there are too many.
func (p *plans) add(one plan) (token string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting == nil {
		p.waiting = map[string]plan{}
	}
	oldest := ""
	for t, other := range p.waiting {
		if oldest == "" || other.made.Before(p.waiting[oldest].made) {
			oldest = t
		}
	}
	if len(p.waiting) >= plansMost {
		delete(p.waiting, oldest)
	}
	token = rand.Text()
	p.waiting[token] = one
	return token
}

// take returns the plan of a token, which then works no more.
func (p *plans) take(token string) (plan, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	one, ok := p.waiting[token]
	delete(p.waiting, token)
	switch {
	case !ok:
		return one, errors.New("there is no plan with this token, or it was applied already: plan again")
	case time.Since(one.made) > planLasts:
		return one, fmt.Errorf("the plan is older than %v: plan again", planLasts)
	}
	return one, nil
}

type planning struct {
	Channel string `json:"channel" jsonschema:"dead letters, such as orders@dlq"`
	To      string `json:"to,omitempty" jsonschema:"the channel that gets them; empty: back to where they died"`
	All     bool   `json:"all,omitempty" jsonschema:"all messages; only without a selection"`

	Kinds    []string `json:"kind,omitempty" jsonschema:"only of these kinds, such as timeout"`
	Group    string   `json:"group,omitempty" jsonschema:"only of the group with this id"`
	Error    string   `json:"error,omitempty" jsonschema:"only those whose error has this text"`
	Headers  []string `json:"header,omitempty" jsonschema:"only those with each of these headers, as name=value"`
	IDs      []string `json:"ids,omitempty" jsonschema:"only those with these ids"`
	Older    string   `json:"older,omitempty" jsonschema:"only those that were sent at least so long ago, as 90m or 2d"`
	Newer    string   `json:"newer,omitempty" jsonschema:"only those that were sent at most so long ago"`
	Attempts int      `json:"attempts,omitempty" jsonschema:"only those that handlers have started at least so often"`
	Body     string   `json:"body,omitempty" jsonschema:"only those with a JSON body for which this jq expression is true"`

	MaxDeaths int     `json:"max_deaths,omitempty" jsonschema:"leave messages that died so often; 0: 3, -1: no limit"`
	Most      int     `json:"most,omitempty" jsonschema:"send at most so many; 0: no limit"`
	PerSecond float64 `json:"per_second,omitempty" jsonschema:"look at most at so many messages a second; 0: no limit"`
}

// options turns the wish into options of a requeue.
func (in *planning) options() (o ops.RequeueOptions, err error) {
	words := selection.Words{
		Kinds: in.Kinds, Group: in.Group, Error: in.Error, Headers: in.Headers, Attempts: in.Attempts, Body: in.Body,
	}
	for _, one := range []struct {
		text string
		to   *time.Duration
	}{{in.Older, &words.Older}, {in.Newer, &words.Newer}} {
		if one.text == "" {
			continue
		}
		if err := (*selection.Span)(one.to).Set(one.text); err != nil {
			return o, fmt.Errorf("%q is no duration: %w", one.text, err)
		}
	}
	o = ops.RequeueOptions{To: in.To, MaxDeaths: in.MaxDeaths, Most: in.Most, PerSecond: in.PerSecond}
	if o.Select, err = words.Selection(context.Background()); err != nil {
		return o, err
	}
	o.Select.IDs = in.IDs
	switch {
	case o.Select.IsZero() && !in.All:
		return o, errors.New("nothing is selected: select messages (group is best), or set all")
	case !o.Select.IsZero() && in.All:
		return o, errors.New("all is set beside a selection: leave one of them out")
	}
	return o, nil
}

type planned struct {
	Token   string           `json:"token" jsonschema:"for apply_requeue"`
	Expires time.Time        `json:"expires"`
	Count   int64            `json:"count" jsonschema:"how many messages would be sent"`
	To      string           `json:"to"`
	Address string           `json:"address"`
	Shared  bool             `json:"shared,omitempty" jsonschema:"other consumers get the messages as well"`
	Looked  int64            `json:"looked"`
	Stay    map[string]int64 `json:"stay,omitempty" jsonschema:"how many stay, by the reason"`
	Binds   string           `json:"binds" jsonschema:"what the token is good for"`
	Notes   []string         `json:"notes,omitempty"`
}

// What a token is good for.
const (
	bindsMessages = "exactly the messages that were counted"
	bindsTime     = "the same selection, at most as many messages, and none that died after the plan: the messages " +
		"cannot be named"
)

// plan counts a requeue.
func (s *Server) plan(ctx context.Context, in planning) (out planned, err error) {
	o, err := in.options()
	if err != nil {
		return out, err
	}
	now := time.Now()
	binds, err := s.bind(ctx, in.Channel, &o.Select, now)
	if err != nil {
		return out, err
	}
	o.Dry = true
	r, err := ops.Requeue(ctx, s.o.Backend, in.Channel, &o)
	notes, err := unseen(err)
	if err != nil {
		return out, err
	}
	out = planned{
		Count: r.Moved, To: r.To, Address: r.Address, Shared: r.Shared, Looked: r.Looked, Stay: stays(&r.Stay),
		Binds: binds, Notes: notes,
	}
	if r.Moved == 0 {
		return out, fmt.Errorf("no message of %s would be sent: %d were looked at, and stay for these reasons: %v",
			in.Channel, r.Looked, out.Stay)
	}
	o.Dry, o.Most = false, int(r.Moved)
	o.Journal = filepath.Join(s.o.Folder, "requeue-"+url.PathEscape(in.Channel)+"-"+url.PathEscape(in.To)+".journal")
	out.Token, out.Expires = s.plans.add(plan{in.Channel, o, r.Moved, now}), now.Add(planLasts).UTC()
	s.o.Logger.Info("a requeue is planned", "channel", in.Channel, "to", r.To, "messages", r.Moved)
	return out, nil
}

// bind narrows a selection to what a channel has now, and says how. Messages that can be listed without receiving them,
// and that are not too many, are named. Otherwise those stay that die from now on.
func (s *Server) bind(ctx context.Context, channel string, selected *ops.Selection, now time.Time) (string, error) {
	entries, err := ops.Peek(ctx, s.o.Backend, channel, &ops.PeekOptions{Most: namedMost + 1})
	if errors.Is(err, ops.ErrMustReceive) || err == nil && len(entries) > namedMost {
		selected.DiedTo = now
		return bindsTime, nil
	}
	ids := []string{}
	for i := range entries {
		// The requeue says why it cannot read a message.
		if ok, err := selected.Selects(ctx, &entries[i], now); ok || err != nil {
			ids = append(ids, entries[i].ID)
		}
	}
	if err == nil && len(ids) == 0 {
		err = fmt.Errorf("no message of %s would be sent: %d were looked at, and none is selected", channel, len(entries))
	}
	selected.IDs = ids
	return bindsMessages, err
}

// unseen turns the error that some messages were not seen into a note: what was seen is counted, or sent.
func unseen(err error) ([]string, error) {
	var e *ops.UnseenError
	if errors.As(err, &e) {
		return []string{"not all messages were seen: " + e.Error()}, nil
	}
	return nil, err
}

// stays are the messages that stay, by the reason.
func stays(s *ops.RequeueStay) map[string]int64 {
	all := map[string]int64{
		"not_selected": s.NotSelected, "died_too_often": s.TooOften, "refused": s.Refused, "behind_their_key": s.Behind,
		"more_than_wanted": s.TooMany, "died_later": s.Later, "not_seen": s.Unlooked,
	}
	for reason, n := range all {
		if n == 0 {
			delete(all, reason)
		}
	}
	return all
}

type applying struct {
	Token string `json:"token" jsonschema:"of plan_requeue"`
}

type applied struct {
	Channel string           `json:"channel"`
	To      string           `json:"to"`
	Sent    int64            `json:"sent"`
	Planned int64            `json:"planned"`
	Stay    map[string]int64 `json:"stay,omitempty"`
	Doubled []string         `json:"perhaps_doubled,omitempty" jsonschema:"ids of messages that may be there twice"`
	Notes   []string         `json:"notes,omitempty"`
}

// apply requeues what a plan has counted.
func (s *Server) apply(ctx context.Context, in applying) (out applied, err error) {
	p, err := s.plans.take(in.Token)
	if err != nil {
		return out, err
	}
	if !s.plans.running.TryLock() {
		return out, errors.New("another requeue is running: wait for it, and plan again")
	}
	defer s.plans.running.Unlock()
	r, err := ops.Requeue(ctx, s.o.Backend, p.channel, &p.o)
	out = applied{
		Channel: p.channel, To: r.To, Sent: r.Moved, Planned: p.count, Stay: stays(&r.Stay), Doubled: r.Doubled,
	}
	s.o.Logger.Info("a requeue was applied", "channel", p.channel, "to", r.To, "messages", r.Moved,
		"planned", p.count, "err", err)
	out.Notes, err = unseen(err)
	if err != nil {
		return out, fmt.Errorf("%d of %d messages were sent: %w", r.Moved, p.count, err)
	}
	return out, nil
}
