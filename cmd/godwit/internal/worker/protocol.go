package worker

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/godwitmq/godwit"
)

// protocol is the version of the line protocol. Fields may be added to its lines; a change of any other kind is the
// next version.
const protocol = 1

// hello is the first line to a worker.
type hello struct {
	Godwit  int     `json:"godwit"` // the version of the protocol
	Channel string  `json:"channel"`
	Worker  int     `json:"worker"`  // its number, from 1 on
	Workers int     `json:"workers"` // how many there are
	Timeout float64 `json:"timeout"` // how many seconds it has for a message
}

// welcome is a worker's first line. A program that only repeats its input is not ready.
type welcome struct {
	Godwit int  `json:"godwit"`
	Ready  bool `json:"ready"`
	// Ahead says that lines may wait for it. It answers them in their order, and releases those whose time to begin is
	// over.
	Ahead bool `json:"ahead"`
}

// request is a message on its way to a worker, without the fields of appendRequest.
type request struct {
	ID          string   `json:"id"`
	Body        *string  `json:"body,omitempty"`
	Body64      []byte   `json:"body_base64,omitempty"` // of a body that is no UTF-8
	Attempt     int      `json:"attempt"`
	OrderKey    string   `json:"order_key,omitempty"`
	RoutingKey  string   `json:"routing_key,omitempty"`
	ContentType string   `json:"content_type,omitempty"`
	Type        string   `json:"type,omitempty"`
	Version     int      `json:"version,omitempty"`
	Headers     []header `json:"headers,omitempty"`
	Sent        string   `json:"sent,omitempty"`
	Deadline    string   `json:"deadline,omitempty"`
}

// header is a header of a message; names may repeat.
type header struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// keyOf is the order key of a message, which is called the tenant on channels without order.
func keyOf(d *godwit.Delivery) string { return cmp.Or(d.OrderKey, d.Tenant) }

func headersOf(d *godwit.Delivery) []header {
	all := make([]header, len(d.Headers))
	for i, h := range d.Headers {
		all[i] = header{h.Name, h.Value}
	}
	return all
}

// stamp is a time as a text. It is empty for the zero time.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// lineOf is a message as a line, without what its worker has to do with it.
func lineOf(d *godwit.Delivery, body []byte, deadline time.Time) ([]byte, error) {
	r := request{
		ID: d.ID, Attempt: d.Attempt, OrderKey: keyOf(d), RoutingKey: d.RoutingKey,
		ContentType: d.ContentType, Type: d.Type, Version: d.Version, Headers: headersOf(d), Sent: stamp(d.SentAt),
		Deadline: stamp(deadline),
	}
	if utf8.Valid(body) {
		text := string(body)
		r.Body = &text
	} else {
		r.Body64 = body
	}
	line, err := json.Marshal(r)
	return append(line, '\n'), err
}

// appendRequest appends a line with the number that the answer repeats, and when the worker may begin at the latest;
// zero: at any time.
func appendRequest(to []byte, number uint64, beginBy time.Time, line []byte) []byte {
	to = append(to, `{"request":`...)
	to = strconv.AppendUint(to, number, 10)
	if !beginBy.IsZero() { // in seconds since 1970, which every language compares easily
		to = append(to, `,"begin_by":`...)
		to = strconv.AppendFloat(to, float64(beginBy.UnixMicro())/1e6, 'f', 6, 64)
	}
	to = append(to, ',')
	return append(to, line[1:]...)
}

// answer is a worker's line about a message.
type answer struct {
	Request *uint64 `json:"request"`
	Action  string  `json:"action"`
	After   float64 `json:"after"` // seconds, of retry; 0: as after any other failure
	Error   string  `json:"error"`
}

// The actions of answers.
const (
	actionDone   = "done"
	actionRetry  = "retry"
	actionReject = "reject"
	actionFail   = "fail" // the consumer's policy decides
	// actionRelease is for a message that the worker has not begun, because its time to begin was over.
	actionRelease = "release"
)

// longestAfter is the longest delay that an answer may ask for.
const longestAfter = 365 * 24 * time.Hour

// readAnswer reads the answer to a request.
func readAnswer(line []byte, number uint64) (a answer, err error) {
	if err := json.Unmarshal(line, &a); err != nil {
		return a, fmt.Errorf("it is no JSON object with request and action: %w", err)
	}
	switch {
	case a.Request == nil:
		return a, errors.New("it has no request")
	case *a.Request != number:
		return a, fmt.Errorf("it answers request %d, and %d is open", *a.Request, number)
	case math.IsNaN(a.After) || a.After < 0 || a.After > longestAfter.Seconds():
		return a, fmt.Errorf("after is %v: use seconds from 0 to a year", a.After)
	}
	switch a.Action {
	case actionDone, actionRetry, actionReject, actionFail, actionRelease:
		return a, nil
	}
	return a, fmt.Errorf("action is %q: use %s, %s, %s or %s", a.Action, actionDone, actionRetry, actionReject,
		actionFail)
}

// settle does what the answer says.
func (a answer) settle(d *godwit.Delivery, wait godwit.Backoff) error {
	why := a.Error
	if why == "" {
		why = "the worker gave no error"
	}
	switch a.Action {
	case actionRetry:
		after := time.Duration(a.After * float64(time.Second))
		if after == 0 {
			after = wait(d.Attempt)
		}
		return d.Retry(after)
	case actionReject:
		return godwit.Permanent(errors.New(why))
	case actionFail:
		return errors.New(why)
	}
	return nil
}
