package sns

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/godwitmq/godwit/localaws/wire"
)

// retryPolicy says how often and when a delivery over HTTP is repeated. nil fields are unset.
type retryPolicy struct {
	MinDelayTarget     *int   `json:"minDelayTarget,omitempty"` // seconds
	MaxDelayTarget     *int   `json:"maxDelayTarget,omitempty"` // seconds
	NumRetries         *int   `json:"numRetries,omitempty"`
	NumMaxDelayRetries *int   `json:"numMaxDelayRetries,omitempty"`
	NumNoDelayRetries  *int   `json:"numNoDelayRetries,omitempty"`
	NumMinDelayRetries *int   `json:"numMinDelayRetries,omitempty"`
	BackoffFunction    string `json:"backoffFunction,omitempty"`
}

type throttlePolicy struct {
	MaxReceivesPerSecond int `json:"maxReceivesPerSecond"`
}

type requestPolicy struct {
	HeaderContentType string `json:"headerContentType"`
}

// topicDelivery is a topic's delivery policy, for subscriptions without one.
type topicDelivery struct {
	HTTP struct {
		Retry            *retryPolicy    `json:"defaultHealthyRetryPolicy,omitempty"`
		Throttle         *throttlePolicy `json:"defaultThrottlePolicy,omitempty"`
		DisableOverrides bool            `json:"disableSubscriptionOverrides"`
		Request          *requestPolicy  `json:"defaultRequestPolicy,omitempty"`
	} `json:"http"`
}

// subscriptionDelivery is a subscription's delivery policy, with the members that SNS always shows.
type subscriptionDelivery struct {
	Retry      *retryPolicy    `json:"healthyRetryPolicy"`
	Sickly     *retryPolicy    `json:"sicklyRetryPolicy"`
	Throttle   *throttlePolicy `json:"throttlePolicy"`
	Request    *requestPolicy  `json:"requestPolicy"`
	Guaranteed bool            `json:"guaranteed"`
}

const (
	defaultDelay       = 20   // SNS: seconds between attempts
	defaultRetries     = 3    // SNS: retries
	maxDelay           = 3600 // SNS: seconds, also of all delays together
	maxRetries         = 100  // SNS: retries
	defaultContentType = "text/plain; charset=UTF-8"
)

var backoffFunctions = []string{"arithmetic", "exponential", "geometric", "linear"}

// effective returns the topic's policy, completed with SNS's defaults.
func (d topicDelivery) effective() topicDelivery {
	e := d
	e.HTTP.Retry = d.HTTP.Retry.filled()
	e.HTTP.Request = cmp.Or(e.HTTP.Request, &requestPolicy{defaultContentType})
	return e
}

// parseDelivery parses a subscription's policy; "": none.
func parseDelivery(text string) (*subscriptionDelivery, *wire.Error) {
	if text == "" {
		return nil, nil
	}
	d := &subscriptionDelivery{}
	if fault := readPolicy(text, d); fault != nil {
		return nil, fault
	}
	if fault := checkDelivery(d.Retry, d.Throttle, d.Request); fault != nil {
		return nil, fault
	}
	if d.Retry != nil {
		d.Retry = d.Retry.filled()
	}
	return d, nil
}

// over returns the policy that applies to a subscription of the topic: its own, if it has one and may have one.
func (d *subscriptionDelivery) over(t topicDelivery) subscriptionDelivery {
	base := t.effective().HTTP
	e := subscriptionDelivery{Retry: base.Retry, Throttle: base.Throttle, Request: base.Request}
	if d == nil || base.DisableOverrides {
		return e
	}
	if d.Retry != nil {
		e.Retry = d.Retry.filled()
	}
	if d.Throttle != nil {
		e.Throttle = d.Throttle
	}
	if d.Request != nil {
		e.Request = d.Request
	}
	e.Guaranteed = d.Guaranteed
	return e
}

func readPolicy(text string, into any) *wire.Error {
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("there is more text behind the JSON document")
		}
	}
	if err != nil {
		return invalid("DeliveryPolicy: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

func checkDelivery(r *retryPolicy, t *throttlePolicy, q *requestPolicy) *wire.Error {
	if t != nil && t.MaxReceivesPerSecond < 1 {
		return invalid("DeliveryPolicy: throttlePolicy.maxReceivesPerSecond must be greater than or equal to 1")
	}
	if q != nil && (q.HeaderContentType == "" || strings.ContainsAny(q.HeaderContentType, "\r\n")) {
		return invalid("DeliveryPolicy: requestPolicy.headerContentType must be a content type")
	}
	if r == nil {
		return nil
	}
	f := r.filled()
	phases := *f.NumNoDelayRetries + *f.NumMinDelayRetries + *f.NumMaxDelayRetries
	switch {
	case *f.MinDelayTarget < 1:
		return invalid("DeliveryPolicy: healthyRetryPolicy.minDelayTarget must be greater than or equal to 1")
	case *f.MaxDelayTarget < *f.MinDelayTarget:
		return invalid("DeliveryPolicy: healthyRetryPolicy.maxDelayTarget must be greater than or equal to " +
			"minDelayTarget")
	case *f.MaxDelayTarget > maxDelay:
		return invalid("DeliveryPolicy: healthyRetryPolicy.maxDelayTarget must be less than or equal to %d", maxDelay)
	case *f.NumRetries < 0:
		return invalid("DeliveryPolicy: healthyRetryPolicy.numRetries must be greater than or equal to 0")
	case *f.NumRetries > maxRetries:
		return invalid("DeliveryPolicy: healthyRetryPolicy.numRetries must be less than or equal to %d", maxRetries)
	case *f.NumNoDelayRetries < 0 || *f.NumMinDelayRetries < 0 || *f.NumMaxDelayRetries < 0 || phases > *f.NumRetries:
		return invalid("DeliveryPolicy: healthyRetryPolicy.numRetries must be greater than or equal to the sum of " +
			"its phases, none of them negative")
	case !slices.Contains(backoffFunctions, f.BackoffFunction):
		return invalid("DeliveryPolicy: healthyRetryPolicy.backoffFunction must be one of %s",
			strings.Join(backoffFunctions, ", "))
	}
	var all time.Duration
	for _, d := range f.delays() {
		all += d
	}
	if all > maxDelay*time.Second {
		return invalid("DeliveryPolicy: healthyRetryPolicy retries for longer than %d seconds", maxDelay)
	}
	return nil
}

// filled returns the policy, completed with SNS's defaults; r may be nil.
func (r *retryPolicy) filled() *retryPolicy {
	f := *cmp.Or(r, &retryPolicy{})
	or := func(v **int, n int) {
		if *v == nil {
			*v = &n
		}
	}
	or(&f.MinDelayTarget, defaultDelay)
	or(&f.MaxDelayTarget, max(defaultDelay, *f.MinDelayTarget))
	or(&f.NumRetries, defaultRetries)
	or(&f.NumMaxDelayRetries, 0)
	or(&f.NumNoDelayRetries, 0)
	or(&f.NumMinDelayRetries, 0)
	f.BackoffFunction = cmp.Or(f.BackoffFunction, "linear")
	return &f
}

// delays returns the wait before each retry of a complete policy: first none, then the shortest, then growing ones,
// then the longest.
func (r *retryPolicy) delays() []time.Duration {
	delays := make([]time.Duration, 0, *r.NumRetries)
	low, high := float64(*r.MinDelayTarget), float64(*r.MaxDelayTarget)
	seconds := func(n int, s float64) {
		for range n {
			delays = append(delays, time.Duration(s*float64(time.Second)))
		}
	}
	seconds(*r.NumNoDelayRetries, 0)
	seconds(*r.NumMinDelayRetries, low)
	growing := *r.NumRetries - *r.NumNoDelayRetries - *r.NumMinDelayRetries - *r.NumMaxDelayRetries
	for i := range growing {
		seconds(1, low+(high-low)*r.share(i, growing))
	}
	seconds(*r.NumMaxDelayRetries, high)
	return delays
}

// share returns where the delay of retry i of n lies between the shortest (0) and the longest (1), by the backoff
// function.
func (r *retryPolicy) share(i, n int) float64 {
	if n <= 1 {
		return 0
	}
	x := float64(i) / float64(n-1)
	switch r.BackoffFunction {
	case "arithmetic": // the growth itself grows: 0, 1, 3, 6, …
		return x * (x*float64(n-1) + 1) / float64(n)
	case "geometric": // grows by a constant factor
		return (math.Pow(2, float64(i)) - 1) / (math.Pow(2, float64(n-1)) - 1)
	case "exponential":
		return (math.Exp(float64(i)) - 1) / (math.Exp(float64(n-1)) - 1)
	}
	return x
}
