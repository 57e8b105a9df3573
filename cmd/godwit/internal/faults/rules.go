package faults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/localaws/wire"
)

// Rules are the latencies and the failures, by action.
type Rules struct {
	latencies []latencyRule
	failures  []failureRule

	mu     sync.Mutex // guards the following field
	random *rand.Rand
}

// latencyRule delays the calls of an action by a time between two.
type latencyRule struct {
	action   string
	from, to time.Duration
}

// failureRule lets a share of the calls of an action fail.
type failureRule struct {
	action string
	share  float64
}

// actionForm is the form of the name of an action, of all of a service, or of all.
var actionForm = regexp.MustCompile(`^(\*|[a-z0-9]+\.(\*|[A-Za-z0-9]+))$`)

// New parses the values of the flags. seed repeats the choices; 0: a random one.
func New(latencies, failures []string, seed uint64) (*Rules, error) {
	for seed == 0 {
		seed = rand.Uint64()
	}
	f := &Rules{random: rand.New(rand.NewPCG(seed, seed))}
	for _, text := range latencies {
		r, err := parseLatency(text)
		if err != nil {
			return nil, fmt.Errorf("--latency %q: %w", text, err)
		}
		f.latencies = append(f.latencies, r)
	}
	for _, text := range failures {
		r, err := parseFailure(text)
		if err != nil {
			return nil, fmt.Errorf("--error-rate %q: %w", text, err)
		}
		f.failures = append(f.failures, r)
	}
	return f, nil
}

func parseLatency(text string) (r latencyRule, err error) {
	action, value, err := splitRule(text)
	if err != nil {
		return r, err
	}
	from, to, isRange := strings.Cut(value, "-")
	if !isRange {
		to = from
	}
	r = latencyRule{action: action}
	r.from, err = time.ParseDuration(from)
	if err == nil {
		r.to, err = time.ParseDuration(to)
	}
	if err != nil || r.from < 0 || r.to < r.from {
		return r, fmt.Errorf("%q is neither a duration like 50ms nor a range like 20ms-200ms", value)
	}
	return r, nil
}

func parseFailure(text string) (r failureRule, err error) {
	action, value, err := splitRule(text)
	if err != nil {
		return r, err
	}
	number, isPercent := strings.CutSuffix(value, "%")
	percent, err := strconv.ParseFloat(number, 64)
	if err != nil || !isPercent || !(percent >= 0 && percent <= 100) {
		return r, fmt.Errorf("%q is not a share from 0%% to 100%%", value)
	}
	return failureRule{action: action, share: percent / 100}, nil
}

// splitRule splits ACTION=VALUE.
func splitRule(text string) (action, value string, err error) {
	action, value, ok := strings.Cut(text, "=")
	if !ok || !actionForm.MatchString(action) {
		return "", "", fmt.Errorf("it is not of the form ACTION=VALUE, with an action like sqs.SendMessage, sqs.* or *")
	}
	return action, value, nil
}

// Control returns the function for the server; nil: no call is affected.
func (f *Rules) Control() func(context.Context, *localaws.Request) localaws.Outcome {
	if len(f.latencies)+len(f.failures) == 0 {
		return nil
	}
	return func(_ context.Context, r *localaws.Request) localaws.Outcome { return f.decide(r) }
}

func (f *Rules) decide(r *localaws.Request) (o localaws.Outcome) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, l := range f.latencies {
		if r.Is(l.action) {
			o.Delay = l.from + time.Duration(f.random.Float64()*float64(l.to-l.from))
			break
		}
	}
	for _, e := range f.failures {
		if !r.Is(e.action) {
			continue
		}
		if f.random.Float64() < e.share {
			o.Err = &wire.Error{
				Code: "ServiceUnavailable", Status: http.StatusServiceUnavailable, Fault: true,
				Message: "This call fails because of --error-rate " + e.action + ".",
			}
		}
		break
	}
	return o
}
