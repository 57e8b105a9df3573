package localaws

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/godwitmq/godwit/localaws/clock"
	"github.com/godwitmq/godwit/localaws/sqs"
	"github.com/godwitmq/godwit/localaws/sqs/queue"
	"github.com/godwitmq/godwit/localaws/wire"
)

// ownPrefix is the path of the server's own pages, which AWS does not have:
//
//	GET  /_localaws/health                  {"status":"ok"}
//	GET  /_localaws/queues                  every queue with its counts
//	GET  /_localaws/queues/NAME/messages    every message, without receiving any; the first locks and duplicates.
//	                                        messageAttributes has types, and bytes in base64
//	GET  /_localaws/queues/NAME/locks       locked groups of a FIFO queue
//	GET  /_localaws/queues/NAME/duplicates  deduplication table of a FIFO queue
//	GET  /_localaws/topics                  every topic with its subscriptions; the first failed deliveries
//	GET  /_localaws/failures                the last failed deliveries of topics
//	GET  /_localaws/unsent                  the last messages for email, sms, lambda and others
//	GET  /_localaws/metrics                 every metric; ?namespace= selects
//	GET  /_localaws/alarms                  every alarm with its state
//	GET  /_localaws/buckets                 every bucket with its counts
//	GET  /_localaws/buckets/NAME/objects    every object of a bucket; ?prefix= selects
//	POST /_localaws/advance?d=1h            moves the clock
//	POST /_localaws/reset                   empties the server; ?seed=1 creates the seed again
//	POST /_localaws/seed                    reads the seed files again, and creates what is new in them
//	POST /_localaws/stop                    ends the process, if Options.Stop is set
//
// Tools for LocalStack find /_localstack/health, and /health, and may list messages under /_aws/sqs/messages.
//
// Lists come in pages of ?limit= elements. The field next is the parameter ?after= of the next page. They are of all
// accounts and regions; ?account= and ?region= select. A queue of NAME is in the server's own account and region,
// if there is one, or else the only one of this name.
const ownPrefix = "/_localaws/"

// StopPath is the page that calls Options.Stop.
const StopPath = ownPrefix + "stop"

func isOwn(path string) bool { return strings.HasPrefix(path, ownPrefix) }

// maxOwnBody bounds the body of a request to one of these pages: parameters of advance.
const maxOwnBody = 4 << 10

// serveOwn answers a request to one of these pages.
func serveOwn(s *Server, w http.ResponseWriter, r *http.Request) {
	body, err := wire.ReadBody(w, r, maxOwnBody)
	if err != nil {
		refuse(w, err.Status, "%s", err.Message)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	s.own.ServeHTTP(w, r)
}

func ownRoutes(s *Server) *http.ServeMux {
	m := http.NewServeMux()
	m.HandleFunc("GET "+ownPrefix+"health", func(w http.ResponseWriter, _ *http.Request) {
		respond(w, http.StatusOK, map[string]string{"status": "ok"})
	})
	for path, list := range map[string]lister{
		"queues": listQueues, "queues/{name}/messages": listMessages, "queues/{name}/locks": listLocks,
		"queues/{name}/duplicates": listDuplicates, "topics": listTopics, "failures": listFailures,
		"unsent": listUnsent, "metrics": listMetrics, "alarms": listAlarms, "buckets": listBuckets,
		"buckets/{name}/objects": listObjects,
	} {
		m.HandleFunc("GET "+ownPrefix+path, paged(s, list))
	}
	m.HandleFunc("POST "+ownPrefix+"advance", func(w http.ResponseWriter, r *http.Request) { advance(s, w, r) })
	m.HandleFunc("POST "+ownPrefix+"reset", func(w http.ResponseWriter, r *http.Request) { resetAll(s, w, r) })
	m.HandleFunc("POST "+ownPrefix+"seed", func(w http.ResponseWriter, r *http.Request) { reseed(s, w, r) })
	if s.opts.Stop != nil {
		m.HandleFunc("POST "+StopPath, func(w http.ResponseWriter, _ *http.Request) {
			respond(w, http.StatusOK, map[string]string{"status": "stopping"})
			s.opts.Stop()
		})
	}
	return m
}

// resetAll empties the server and, if asked, plants again.
func resetAll(s *Server, w http.ResponseWriter, r *http.Request) {
	switch seed := r.FormValue("seed"); seed {
	case "", "0":
		s.Reset()
		respond(w, http.StatusOK, map[string]string{"status": "empty"})
		return
	case "1":
	default:
		refuse(w, http.StatusBadRequest, "seed=%q is neither 1 nor 0", seed)
		return
	}
	plantAgain(s, w, r, s.Reset, "the server is empty, and its seed was not created: %v")
}

// reseed reads the seed files again.
func reseed(s *Server, w http.ResponseWriter, r *http.Request) {
	plantAgain(s, w, r, func() {}, "not all of the seed was created: %v")
}

func plantAgain(s *Server, w http.ResponseWriter, r *http.Request, before func(), failed string) {
	s.mu.Lock()
	planted := s.planted
	s.mu.Unlock()
	if len(planted) == 0 {
		refuse(w, http.StatusConflict, "there is no seed file: start the server with one (godwit local --seed)")
		return
	}
	before()
	for _, path := range planted {
		if err := newPlanter(s).plant(r.Context(), path); err != nil {
			refuse(w, http.StatusInternalServerError, failed, err)
			return
		}
	}
	respond(w, http.StatusOK, map[string]string{"status": "seeded"})
}

func advance(s *Server, w http.ResponseWriter, r *http.Request) {
	d, err := time.ParseDuration(r.FormValue("d"))
	if err != nil || d < 0 {
		refuse(w, http.StatusBadRequest, "d=%q is not a duration such as 90s or 1h", r.FormValue("d"))
		return
	}
	if ahead := s.clock.Offset(); d > clock.Furthest-ahead {
		refuse(w, http.StatusBadRequest, "d=%v would move the clock to %v ahead of this machine's; it goes to %v at most",
			d, ahead+min(d, math.MaxInt64-ahead), clock.Furthest)
		return
	}
	if most := s.places.bounds.Advance(); d > most {
		refuse(w, http.StatusBadRequest, "d=%v takes too long, because the alarms of CloudWatch are evaluated for each "+
			"minute: move the clock by at most %v at a time, or delete alarms", d, most)
		return
	}
	s.Advance(d)
	respond(w, http.StatusOK, map[string]time.Time{"now": s.Now().UTC()})
}

// queueSummary is a queue in the list of queues.
type queueSummary struct {
	Name     string `json:"name"`
	ARN      string `json:"arn"`
	Account  string `json:"account"`
	Region   string `json:"region"`
	FIFO     bool   `json:"fifo"`
	Visible  int    `json:"visible"`
	Delayed  int    `json:"delayed"`
	InFlight int    `json:"inFlight"`
	Polls    int    `json:"polls"` // receives that are waiting now
}

func listQueues(s *Server, p page, r *http.Request) (map[string]any, error) {
	list, err := everywhere(s.places, r, func(in *services) []*sqs.Queue { return in.sqs.Queues() })
	if err != nil {
		return nil, err
	}
	queues, next := cutPlaces(p, list, func(q **sqs.Queue) string { return (*q).Name() })
	all := []queueSummary{}
	for _, l := range queues {
		q := l.value
		n := q.Model().Stats()
		all = append(all, queueSummary{
			Name: q.Name(), ARN: q.ARN(), Account: l.at.Account, Region: l.at.Region, FIFO: q.FIFO(),
			Visible: n.Visible, Delayed: n.Delayed, InFlight: n.InFlight, Polls: n.Waiters,
		})
	}
	return map[string]any{"queues": all, "next": next}, nil
}

// messageView is a message in the list of a queue.
type messageView struct {
	ID         string            `json:"id"`
	State      string            `json:"state"`
	Until      *time.Time        `json:"until,omitempty"`
	Sent       time.Time         `json:"sent"`
	Body       string            `json:"body"`
	Attributes map[string]string `json:"attributes,omitempty"`
	Typed      map[string]typed  `json:"messageAttributes,omitempty"` // the same, with types
	Trace      string            `json:"trace,omitempty"`
	Group      string            `json:"group,omitempty"`
	Dedup      string            `json:"dedup,omitempty"`
	Sequence   string            `json:"sequence,omitempty"`
	Source     string            `json:"deadLetterOf,omitempty"`
	Count      int               `json:"receiveCount"`
	Receives   []queue.Receipt   `json:"receives,omitempty"`
}

// typed is an attribute with its type, and with its text or, in base64, its bytes.
type typed struct {
	Type   string `json:"type"`
	Text   string `json:"text,omitempty"`
	Binary []byte `json:"binary,omitempty"`
}

func listMessages(s *Server, p page, r *http.Request) (map[string]any, error) {
	q, err := s.places.queueOf(r)
	if err != nil {
		return nil, err
	}
	var after int64
	if p.after != "" {
		if after, err = strconv.ParseInt(p.after, 10, 64); err != nil {
			return nil, fmt.Errorf("after=%q is not the field next of an answer", p.after)
		}
	}
	views, last, err := q.Model().MessagesAfter(after, p.limit)
	if err != nil {
		return nil, err
	}
	messages, next := []messageView{}, ""
	for _, v := range views {
		messages = append(messages, viewMessage(v))
	}
	if last > 0 {
		next = strconv.FormatInt(last, 10)
	}
	answer := map[string]any{"messages": messages, "next": next}
	if p.after == "" {
		locks, known := q.Model().Locks(), q.Model().Dedup()
		answer["locks"], answer["deduplication"] = locks[:min(p.limit, len(locks))], known[:min(p.limit, len(known))]
	}
	return answer, nil
}

func listLocks(s *Server, p page, r *http.Request) (map[string]any, error) {
	q, err := s.places.queueOf(r)
	if err != nil {
		return nil, err
	}
	locks, next := cut(p, q.Model().Locks(), func(l *queue.Lock) string { return l.Group })
	return map[string]any{"locks": locks, "next": next}, nil
}

func listDuplicates(s *Server, p page, r *http.Request) (map[string]any, error) {
	q, err := s.places.queueOf(r)
	if err != nil {
		return nil, err
	}
	// The table is in order of time; entries of one time are in order of their ids.
	known := q.Model().Dedup()
	cursor := func(k *queue.Known) string {
		return fmt.Sprintf("%020d %s %s", k.Until.UnixNano(), k.Group, k.Dedup)
	}
	slices.SortFunc(known, func(a, b queue.Known) int { return strings.Compare(cursor(&a), cursor(&b)) })
	some, next := cut(p, known, cursor)
	return map[string]any{"deduplication": some, "next": next}, nil
}

func viewMessage(v queue.View) messageView {
	d := v.Details()
	m := messageView{
		ID: v.ID, State: v.State.String(), Sent: v.Sent.UTC(), Body: v.Body, Group: d.Group, Dedup: d.Dedup,
		Sequence: v.Sequence, Source: v.Source, Count: v.Count, Receives: v.Receives, Trace: d.Trace,
	}
	if !v.Until.IsZero() {
		until := v.Until.UTC()
		m.Until = &until
	}
	for name, a := range d.Attributes {
		if m.Attributes == nil {
			m.Attributes, m.Typed = map[string]string{}, map[string]typed{}
		}
		m.Typed[name] = typed{Type: a.Type, Text: a.Text, Binary: a.Binary}
		m.Attributes[name] = a.Text + string(a.Binary)
	}
	return m
}

func refuse(w http.ResponseWriter, status int, format string, args ...any) {
	respond(w, status, map[string]string{"error": fmt.Sprintf(format, args...)})
}

func respond(w http.ResponseWriter, status int, v any) {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		status, b = http.StatusInternalServerError, fmt.Appendf(nil, "%q", err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(b, '\n'))
}
