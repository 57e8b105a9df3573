package ops

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/godwitmq/godwit/driver"
)

const (
	// DefaultServiceTime is the assumed duration of a handler.
	DefaultServiceTime = time.Second
	// DefaultTolerance is how old a message may be when its handler starts, as of godwit.ConsumerOptions.
	DefaultTolerance = 2 * time.Minute
	// DefaultWorkers is how many handlers one process runs at once, as of godwit.ConsumerOptions.
	DefaultWorkers = 10
)

// DemandOptions are the options of Demand. The zero value is usable.
type DemandOptions struct {
	// Match selects channels by a pattern of path.Match. Set it to ask about one channel or some. "": all.
	Match string
	// ServiceTime is how long a handler takes. Set it to what the consumers measure, since no consumer is asked. 0:
	// [DefaultServiceTime].
	ServiceTime time.Duration
	// Tolerance is how old messages may be when their handlers start. Set it to the DelayTolerance of the consumers. 0:
	// [DefaultTolerance].
	Tolerance time.Duration
	// Workers is how many handlers a process runs at once. Set it to the Concurrency, or the MaxConcurrency, of the
	// consumers. 0: [DefaultWorkers].
	Workers int
	// Most bounds the number of processes. Set it to what the service behind the handlers bears. 0: no limit.
	Most int
}

// ChannelDemand is how many processes a channel needs. All numbers are of the moment.
type ChannelDemand struct {
	Channel string `json:"channel"`
	Backlog int64  `json:"backlog"` // messages that could be received now
	// InFlight are messages that consumers hold, or that wait for a retry.
	InFlight int64 `json:"in_flight"`
	// AgeSeconds is the age of the oldest waiting message; 0: unknown.
	AgeSeconds float64 `json:"age_seconds"`
	Workers    int     `json:"workers"` // handlers that would handle the backlog within the tolerance
	// Consumers is how many processes have so many workers. It is 0 only if nothing waits and nothing is in flight.
	Consumers int    `json:"consumers"`
	Problem   string `json:"error,omitempty"` // why the channel could not be looked at; the numbers then say nothing
}

// complete fills in defaults, and returns an error for options that make no sense.
func (o *DemandOptions) complete() error {
	if o.ServiceTime < 0 || o.Tolerance < 0 || o.Workers < 0 || o.Most < 0 {
		return fmt.Errorf("ops: DemandOptions has ServiceTime %v, Tolerance %v, Workers %d and Most %d: none can be "+
			"negative", o.ServiceTime, o.Tolerance, o.Workers, o.Most)
	}
	o.ServiceTime = cmp.Or(o.ServiceTime, DefaultServiceTime)
	o.Tolerance = cmp.Or(o.Tolerance, DefaultTolerance)
	o.Workers = cmp.Or(o.Workers, DefaultWorkers)
	return nil
}

// Demand returns how many processes each channel needs, also if none runs: by what waits, its age, and an assumed
// duration of handlers. While consumers run, Consumer.Demand knows more. Dead letters and exchanges have no demand.
func Demand(ctx context.Context, b driver.Backend, o *DemandOptions) ([]ChannelDemand, error) {
	opts := *cmp.Or(o, &DemandOptions{})
	if err := opts.complete(); err != nil {
		return nil, err
	}
	all, err := List(ctx, b, &ListOptions{Match: opts.Match})
	if err != nil {
		return nil, err
	}
	demands := []ChannelDemand{}
	for i := range all {
		if all[i].Channel.Role() == driver.RoleQueue {
			demands = append(demands, opts.demand(&all[i]))
		}
	}
	return demands, nil
}

// ErrNoConsumers is the error for the demand of an exchange, or of dead letters.
var ErrNoConsumers = errors.New("it has no consumers: name a queue")

// DemandOf returns how many processes one channel needs. A channel that could not be looked at is an error here, so
// that an autoscaler keeps its number; the error for one that does not exist is of class [driver.NotFound].
func DemandOf(ctx context.Context, b driver.Backend, channel string, o *DemandOptions) (*ChannelDemand, error) {
	opts := *cmp.Or(o, &DemandOptions{})
	if err := opts.complete(); err != nil {
		return nil, err
	}
	found, err := Find(ctx, b, channel)
	if err != nil {
		return nil, err
	}
	if found.Channel.Role() != driver.RoleQueue {
		return nil, fmt.Errorf("ops: channel %s: %w", channel, ErrNoConsumers)
	}
	listed := look(ctx, b, []Listed{{ChannelInfo: found}})
	if len(listed) == 0 {
		return nil, &driver.Error{
			Class: driver.NotFound, Err: fmt.Errorf("ops: channel %s does not exist any more", channel),
		}
	}
	if err := listed[0].Err; err != nil {
		return nil, err
	}
	d := opts.demand(&listed[0])
	return &d, nil
}

// demand computes the demand of one channel.
func (o *DemandOptions) demand(l *Listed) ChannelDemand {
	d := ChannelDemand{Channel: l.Channel.String()}
	if l.Err != nil {
		d.Problem = l.Err.Error()
		return d
	}
	d.Backlog, d.InFlight = l.Depth.Waiting, l.Depth.InFlight+l.Depth.Delayed
	age := max(l.Depth.Oldest, 0)
	d.AgeSeconds = age.Seconds()
	if d.Backlog == 0 && d.InFlight == 0 {
		return d
	}
	left := max(o.Tolerance-age, o.Tolerance/4) // as Consumer.Demand
	wanted := min(float64(d.Backlog)*o.ServiceTime.Seconds()/left.Seconds(), float64(d.Backlog))
	d.Workers = int(min(math.Ceil(max(wanted, 1)), math.MaxInt32))
	d.Consumers = (d.Workers + o.Workers - 1) / o.Workers
	if o.Most > 0 {
		d.Consumers = min(d.Consumers, o.Most)
	}
	return d
}

// DemandHandler serves GET /demand, a list in JSON, and GET /demand?channel=NAME, one channel as an object, which
// KEDA's metrics-api reads. The parameters service_time, tolerance, workers and most replace the options, so that one
// handler serves channels with different consumers. A channel that could not be looked at is answered with 503, so that
// a scaler keeps its number, and one that does not exist with 404.
func DemandHandler(b driver.Backend, o *DemandOptions) (http.Handler, error) {
	opts := *cmp.Or(o, &DemandOptions{})
	if err := opts.complete(); err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /demand", answerDemand(func(ctx context.Context, q url.Values) (any, int, error) {
		asked := opts
		if err := asked.replace(q); err != nil {
			return nil, http.StatusBadRequest, err
		}
		return asked.answer(ctx, b, q.Get("channel"))
	}))
	return mux, nil
}

// replace replaces the options that are parameters of a request.
func (o *DemandOptions) replace(q url.Values) error {
	var failed []error
	for name, to := range map[string]*time.Duration{"service_time": &o.ServiceTime, "tolerance": &o.Tolerance} {
		if text := q.Get(name); text != "" {
			d, err := time.ParseDuration(text)
			if *to = d; err != nil || d <= 0 {
				failed = append(failed, fmt.Errorf("%s=%s is no duration like 200ms or 2m", name, text))
			}
		}
	}
	for name, to := range map[string]*int{"workers": &o.Workers, "most": &o.Most} {
		if text := q.Get(name); text != "" {
			n, err := strconv.Atoi(text)
			if *to = n; err != nil || n <= 0 {
				failed = append(failed, fmt.Errorf("%s=%s is no number from 1 on", name, text))
			}
		}
	}
	return errors.Join(failed...)
}

// answerDemand answers with a value, or with a status and an error.
func answerDemand(ask func(ctx context.Context, q url.Values) (any, int, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		value, status, err := ask(r.Context(), r.URL.Query())
		if err != nil {
			http.Error(w, err.Error(), status)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		_ = json.NewEncoder(w).Encode(value) // the client has gone
	}
}

// answer returns the demand of one channel, or of all. The options are complete.
func (o *DemandOptions) answer(ctx context.Context, b driver.Backend, channel string) (v any, status int, err error) {
	if channel == "" {
		all, err := Demand(ctx, b, o)
		return all, http.StatusServiceUnavailable, err
	}
	d, err := DemandOf(ctx, b, channel, o)
	switch {
	case err == nil:
		return d, http.StatusOK, nil
	case errors.Is(err, ErrNoConsumers):
		return nil, http.StatusBadRequest, err
	case driver.ClassOf(err) == driver.NotFound:
		return nil, http.StatusNotFound, err
	}
	return nil, http.StatusServiceUnavailable, err
}
