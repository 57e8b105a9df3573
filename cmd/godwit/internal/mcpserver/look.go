package mcpserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops"
	"github.com/godwitmq/godwit/ops/describe"
	"github.com/godwitmq/godwit/ops/doctor"
)

const (
	// channelsMost and troublesMost bound an answer: a model reads all of it.
	channelsMost = 500
	troublesMost = 100
	// runningMost bounds the handlers of a consumer in an answer.
	runningMost = 20
)

type (
	matching struct {
		Match string `json:"match,omitempty" jsonschema:"a pattern of channel names such as orders*; empty: all"`
	}
	naming struct {
		Channel string `json:"channel" jsonschema:"the name of a channel, such as orders or wishlist_events.audit_log"`
	}
	nothing struct{}
)

// channel is a channel in an answer. Numbers that are not known are left out.
type channel struct {
	Name        string   `json:"name"`
	Role        string   `json:"role"`
	Paused      bool     `json:"paused,omitempty"`
	Ordered     bool     `json:"ordered,omitempty"`
	Waiting     *int64   `json:"waiting,omitempty"`
	InFlight    *int64   `json:"in_flight,omitempty"`
	Delayed     *int64   `json:"delayed,omitempty"`
	DeadLetters *int64   `json:"dead_letters,omitempty"`
	Oldest      *float64 `json:"oldest_seconds,omitempty"`
	Problem     string   `json:"problem,omitempty"`
	Troubles    []string `json:"troubles,omitempty"`
}

// known returns a number that is known, or nil.
func known(n int64) *int64 {
	if n < 0 {
		return nil
	}
	return &n
}

func seconds(d time.Duration) *float64 {
	if d < 0 {
		return nil
	}
	return new(d.Seconds())
}

// channelOf makes a channel of what was listed.
func channelOf(l *ops.Listed) channel {
	c := channel{
		Name: l.Channel.String(), Role: l.Channel.Role().String(), Paused: l.Paused, Ordered: l.Channel.Ordered,
	}
	switch {
	case l.Err != nil:
		c.Problem = l.Err.Error()
	case l.Channel.Queue != "":
		c.Waiting, c.InFlight, c.Delayed = known(l.Depth.Waiting), known(l.Depth.InFlight), known(l.Depth.Delayed)
		c.Oldest = seconds(l.Depth.Oldest)
	}
	return c
}

type listed struct {
	Channels []channel `json:"channels"`
	More     int       `json:"more,omitempty" jsonschema:"how many channels are left out"`
}

func (s *Server) list(ctx context.Context, in matching) (out listed, err error) {
	all, err := ops.List(ctx, s.o.Backend, &ops.ListOptions{Match: in.Match})
	out.Channels = []channel{}
	for i := range all[:min(len(all), channelsMost)] {
		out.Channels = append(out.Channels, channelOf(&all[i]))
	}
	out.More = len(all) - len(out.Channels)
	return out, err
}

type described struct {
	channel
	Address     string            `json:"address,omitempty"`
	Created     *time.Time        `json:"created,omitempty"`
	LastHour    map[string]int64  `json:"last_hour,omitempty" jsonschema:"what the service has counted"`
	Settings    map[string]string `json:"settings,omitempty"`
	Tags        map[string]string `json:"tags,omitempty"`
	Policy      []string          `json:"policy,omitempty"`
	Subscribers []string          `json:"subscribers,omitempty"`
	Related     []channel         `json:"related,omitempty"`
	Unknown     []string          `json:"unknown,omitempty" jsonschema:"what could not be found out"`
}

func (s *Server) describe(ctx context.Context, in naming) (out described, err error) {
	c, err := describe.Read(ctx, s.o.Backend, in.Channel, nil)
	if err != nil {
		return out, err
	}
	l := &ops.Listed{
		ChannelInfo: c.ChannelInfo, Depth: driver.Depth{Waiting: -1, InFlight: -1, Delayed: -1, Oldest: -1},
	}
	if c.Depth != nil {
		l.Depth = *c.Depth
	}
	out = described{
		channel: channelOf(l), Address: c.Address, Tags: c.Tags, Subscribers: c.Subscribers,
		LastHour: map[string]int64{}, Settings: map[string]string{},
	}
	if !c.Created.IsZero() {
		out.Created = &c.Created
	}
	if a := c.Activity; a != nil {
		for name, r := range map[string]driver.Reading[int64]{
			"sent": a.Sent, "received": a.Received, "done": a.Deleted, "delivered": a.Delivered, "failed": a.Failed,
			"consumers": a.Consumers,
		} {
			if r.Known() {
				out.LastHour[name] = r.Value
			}
		}
	}
	for _, one := range c.Settings {
		out.Settings[one.Name] = one.Value
	}
	for _, one := range c.Policy {
		out.Policy = append(out.Policy, one.String())
	}
	for i := range c.Related {
		out.Related = append(out.Related, channelOf(&c.Related[i]))
	}
	for _, problem := range c.Problems {
		out.Unknown = append(out.Unknown, problem.Error())
	}
	return out, nil
}

type snapshot struct {
	At          time.Time `json:"at"`
	Channels    int       `json:"channels"`
	Waiting     int64     `json:"waiting"`
	InFlight    int64     `json:"in_flight"`
	DeadLetters int64     `json:"dead_letters"`
	Troubled    []channel `json:"troubled" jsonschema:"channels in trouble, the worst first"`
	More        int       `json:"more,omitempty" jsonschema:"how many troubled channels are left out"`
	Unknown     []string  `json:"unknown,omitempty" jsonschema:"what could not be found out"`
}

// view looks at all channels.
func (s *Server) view(ctx context.Context) (*ops.View, error) {
	for v := range s.sampler.Watch(ctx) {
		return &v, v.Err
	}
	return nil, context.Cause(ctx)
}

func (s *Server) snapshot(ctx context.Context, _ nothing) (out snapshot, err error) {
	v, err := s.view(ctx)
	if err != nil {
		return out, err
	}
	out = snapshot{At: v.At.UTC(), Troubled: []channel{}}
	if v.RatesErr != nil {
		out.Unknown = append(out.Unknown, "ages and rates: "+v.RatesErr.Error())
	}
	for i := range v.Channels {
		w := &v.Channels[i]
		if w.Channel.Role() == driver.RoleQueue {
			out.Channels++
			out.Waiting, out.InFlight = out.Waiting+max(0, w.Waiting), out.InFlight+max(0, w.InFlight)
		}
		if w.Channel.DeadLetter {
			out.DeadLetters += w.Waiting + w.InFlight + w.Delayed
		}
		if c := troubledOf(w); len(c.Troubles) > 0 {
			out.Troubled = append(out.Troubled, c)
		}
	}
	slices.SortStableFunc(out.Troubled, func(a, b channel) int { return cmp.Compare(len(b.Troubles), len(a.Troubles)) })
	out.More = max(0, len(out.Troubled)-troublesMost)
	out.Troubled = out.Troubled[:len(out.Troubled)-out.More]
	return out, nil
}

// troubledOf is a channel with what somebody should look at.
func troubledOf(w *ops.Watched) channel {
	c := channelOf(&ops.Listed{ChannelInfo: w.ChannelInfo, Err: w.Err, Depth: driver.Depth{
		Waiting: w.Waiting, InFlight: w.InFlight, Delayed: w.Delayed, Oldest: w.Oldest,
	}})
	c.DeadLetters = known(w.DeadLetters)
	t := ops.ThresholdsOf(&w.ChannelInfo)
	is := func(format string, args ...any) { c.Troubles = append(c.Troubles, fmt.Sprintf(format, args...)) }
	switch {
	case w.Err != nil:
		is("it could not be looked at")
	case w.Channel.DeadLetter:
		if n := w.Waiting + w.InFlight + w.Delayed; t.DeadLetters > 0 && n >= t.DeadLetters {
			is("it has %d dead letters", n)
		}
	case w.Channel.Queue != "":
		if t.Age > 0 && w.Oldest > t.Age {
			is("the oldest message waits for %v, and %v are tolerated", w.Oldest.Round(time.Second), t.Age)
		}
		if t.Depth > 0 && w.Waiting >= t.Depth {
			is("%d messages wait, and the limit is %d", w.Waiting, t.Depth)
		}
		if w.Paused {
			is("it is paused")
		}
	}
	c.Troubles = append(c.Troubles, t.Wrong...)
	return c
}

// finding is something wrong or risky.
type finding struct {
	Level string `json:"level"`
	What  string `json:"what"`
	Means string `json:"means"`
	Mend  string `json:"mend"`
}

type explained struct {
	Channel  channel   `json:"channel"`
	Findings []finding `json:"findings" jsonschema:"the worst first; empty: nothing was found"`
	Unknown  []string  `json:"unknown,omitempty" jsonschema:"what could not be found out"`
}

func (s *Server) explain(ctx context.Context, in naming) (out explained, err error) {
	info, err := ops.Find(ctx, s.o.Backend, in.Channel)
	if err != nil {
		return out, err
	}
	v, err := s.view(ctx)
	if err != nil {
		return out, err
	}
	out = explained{Channel: channelOf(&ops.Listed{ChannelInfo: info}), Findings: []finding{}}
	for i := range v.Channels {
		if v.Channels[i].Channel == info.Channel {
			out.Channel = troubledOf(&v.Channels[i])
		}
	}
	// A name of an exchange ends with a star, which is no pattern here.
	report, err := doctor.Examine(ctx, s.o.Backend, &doctor.Options{Match: strings.ReplaceAll(in.Channel, "*", `\*`)})
	if err != nil {
		return out, err
	}
	for _, f := range report.Findings {
		out.Findings = append(out.Findings, finding{f.Level.String(), f.What, f.Means, f.Mend})
	}
	for _, unknown := range report.Unknown {
		out.Unknown = append(out.Unknown, unknown.Error())
	}
	return out, nil
}

type demanding struct {
	Match       string  `json:"match,omitempty" jsonschema:"a pattern of channel names; empty: all"`
	ServiceTime float64 `json:"service_seconds,omitempty" jsonschema:"how long a handler takes; 0: 0.1"`
	Workers     int     `json:"workers,omitempty" jsonschema:"how many handlers a process runs at once; 0: 10"`
}

type demanded struct {
	Channels []ops.ChannelDemand `json:"channels"`
}

func (s *Server) demand(ctx context.Context, in demanding) (out demanded, err error) {
	out.Channels, err = ops.Demand(ctx, s.o.Backend, &ops.DemandOptions{
		Match: in.Match, ServiceTime: time.Duration(in.ServiceTime * float64(time.Second)), Workers: in.Workers,
	})
	if out.Channels == nil {
		out.Channels = []ops.ChannelDemand{}
	}
	return out, err
}

type consumer struct {
	Process  string    `json:"process"`
	Channel  string    `json:"channel"`
	State    string    `json:"state"`
	Workers  int       `json:"workers"`
	Held     int       `json:"held"`
	Waiting  int       `json:"waiting"`
	Retrying int       `json:"retrying"`
	Blocked  float64   `json:"blocked_seconds" jsonschema:"how long the key that has waited longest waits"`
	Handled  int64     `json:"handled"`
	Retried  int64     `json:"retried"`
	Rejected int64     `json:"rejected"`
	Running  []running `json:"running" jsonschema:"handlers, the oldest first"`
	Problems []string  `json:"problems,omitempty"`
}

type running struct {
	ID      string  `json:"id"`
	Attempt int     `json:"attempt"`
	Seconds float64 `json:"seconds"`
	Timeout float64 `json:"timeout_seconds"`
	// The rest is shown only to those who may see bodies.
	Untrusted *handled `json:"untrusted,omitempty"`
}

type handled struct {
	OrderKey string `json:"order_key,omitempty"`
	Tenant   string `json:"tenant,omitempty"`
	Stack    string `json:"stack,omitempty"`
}

type held struct {
	Consumers []consumer `json:"consumers"`
	Unknown   []string   `json:"unknown,omitempty" jsonschema:"processes that did not report"`
}

// errNobody is the error of held without processes.
var errNobody = errors.New("no process reports: mount ops.Workers in the processes with consumers, and start this " +
	"server with their addresses (--workers)")

func (s *Server) held(ctx context.Context, in matching) (out held, err error) {
	if s.o.Workers == nil || s.o.Workers.None() {
		return out, errNobody
	}
	reports := s.o.Workers.Ask(ctx)
	for _, problem := range reports.Problems {
		out.Unknown = append(out.Unknown, problem.Error())
	}
	out.Consumers = []consumer{}
	for i := range reports.All {
		r := &reports.All[i]
		for k := range r.Consumers {
			if c := &r.Consumers[k]; in.Match == "" || c.Channel == in.Match {
				out.Consumers = append(out.Consumers, s.consumerOf(r, c))
			}
		}
	}
	return out, nil
}

func (s *Server) consumerOf(r *ops.WorkersReport, c *ops.ConsumerWork) consumer {
	one := consumer{
		Process: fmt.Sprintf("%s, process %d", r.Host, r.PID), Channel: c.Channel, State: c.State, Workers: c.Workers,
		Held: c.Held, Waiting: c.Waiting, Retrying: c.Retrying, Blocked: c.Blocked.Seconds(), Handled: c.Handled,
		Retried: c.Retried, Rejected: c.Rejected, Running: []running{}, Problems: c.Problems,
	}
	for _, h := range c.Running[:min(len(c.Running), runningMost)] {
		of := running{
			ID: h.ID, Attempt: h.Attempt, Seconds: r.At.Sub(h.Since).Seconds(), Timeout: c.Timeout.Seconds(),
		}
		if s.o.Bodies {
			of.Untrusted = &handled{h.OrderKey, h.Tenant, h.Stack}
		}
		one.Running = append(one.Running, of)
	}
	return one
}

type process struct {
	Address string `json:"address"`
	Works   bool   `json:"works"`
	Why     string `json:"why,omitempty"`
}

type healths struct {
	Processes []process `json:"processes"`
}

func (s *Server) health(ctx context.Context, _ nothing) (out healths, err error) {
	if len(s.o.Health) == 0 {
		return out, errors.New("no address of a process is known: mount ops.Health.Handler in the processes with " +
			"consumers, and start this server with the addresses of their /readyz (--health)")
	}
	for _, address := range s.o.Health {
		p := process{Address: address, Works: true}
		if err := ops.CheckHealth(ctx, ops.HealthCheck{URL: address}); err != nil {
			p.Works, p.Why = false, err.Error()
		}
		out.Processes = append(out.Processes, p)
	}
	return out, nil
}
