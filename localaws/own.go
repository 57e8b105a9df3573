package localaws

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/godwitmq/godwit/localaws/sqs"
	"github.com/godwitmq/godwit/localaws/sqs/queue"
)

// ownPrefix is the path of the server's own pages, which AWS does not have:
//
//	GET  /_localaws/health                  {"status":"ok"}
//	GET  /_localaws/queues                  every queue with its counts
//	GET  /_localaws/queues/NAME/messages    every message, without receiving any
//	GET  /_localaws/topics                  every topic with its subscriptions, and failed deliveries
//	GET  /_localaws/buckets                 every bucket with its counts
//	GET  /_localaws/buckets/NAME/objects    every object of a bucket; prefix=… selects
//	POST /_localaws/advance?d=1h            moves the clock
//	POST /_localaws/reset                   empties the server
const ownPrefix = "/_localaws/"

func isOwn(path string) bool { return strings.HasPrefix(path, ownPrefix) }

func (s *Server) ownRoutes() *http.ServeMux {
	m := http.NewServeMux()
	m.HandleFunc("GET "+ownPrefix+"health", func(w http.ResponseWriter, _ *http.Request) {
		respond(w, http.StatusOK, map[string]string{"status": "ok"})
	})
	m.HandleFunc("GET "+ownPrefix+"queues", s.listQueues)
	m.HandleFunc("GET "+ownPrefix+"queues/{name}/messages", s.listMessages)
	m.HandleFunc("GET "+ownPrefix+"topics", s.listTopics)
	m.HandleFunc("GET "+ownPrefix+"buckets", s.listBuckets)
	m.HandleFunc("GET "+ownPrefix+"buckets/{name}/objects", s.listObjects)
	m.HandleFunc("POST "+ownPrefix+"advance", s.advance)
	m.HandleFunc("POST "+ownPrefix+"reset", func(w http.ResponseWriter, _ *http.Request) {
		s.Reset()
		respond(w, http.StatusOK, map[string]string{"status": "empty"})
	})
	return m
}

func (s *Server) advance(w http.ResponseWriter, r *http.Request) {
	d, err := time.ParseDuration(r.FormValue("d"))
	if err != nil || d < 0 {
		refuse(w, http.StatusBadRequest, "d=%q is not a duration such as 90s or 1h", r.FormValue("d"))
		return
	}
	s.Advance(d)
	respond(w, http.StatusOK, map[string]time.Time{"now": s.Now().UTC()})
}

// queueSummary is a queue in the list of queues.
type queueSummary struct {
	Name     string `json:"name"`
	ARN      string `json:"arn"`
	FIFO     bool   `json:"fifo"`
	Visible  int    `json:"visible"`
	Delayed  int    `json:"delayed"`
	InFlight int    `json:"inFlight"`
	Polls    int    `json:"polls"` // receives that are waiting now
}

func (s *Server) listQueues(w http.ResponseWriter, r *http.Request) {
	all := []queueSummary{}
	queues, next, ok := pageOf(w, r, s.sqs.Queues(), (*sqs.Queue).Name)
	if !ok {
		return
	}
	for _, q := range queues {
		n := q.Model().Stats()
		all = append(all, queueSummary{
			Name: q.Name(), ARN: q.ARN(), FIFO: q.FIFO(),
			Visible: n.Visible, Delayed: n.Delayed, InFlight: n.InFlight, Polls: n.Waiters,
		})
	}
	respond(w, http.StatusOK, listPage{"queues": all}.before(next))
}

// messageView is a message in the list of a queue.
type messageView struct {
	ID         string            `json:"id"`
	State      string            `json:"state"`
	Until      *time.Time        `json:"until,omitempty"`
	Sent       time.Time         `json:"sent"`
	Body       string            `json:"body"`
	Attributes map[string]string `json:"attributes,omitempty"`
	Group      string            `json:"group,omitempty"`
	Dedup      string            `json:"dedup,omitempty"`
	Sequence   string            `json:"sequence,omitempty"`
	Source     string            `json:"deadLetterOf,omitempty"`
	Count      int               `json:"receiveCount"`
	Receives   []queue.Receipt   `json:"receives,omitempty"`
}

func (s *Server) listMessages(w http.ResponseWriter, r *http.Request) {
	q := s.sqs.Queue(r.PathValue("name"))
	if q == nil {
		refuse(w, http.StatusNotFound, "there is no queue %q", r.PathValue("name"))
		return
	}
	messages := []messageView{}
	page, next, ok := pageAt(w, r, q.Model().Messages())
	if !ok {
		return
	}
	for _, v := range page {
		messages = append(messages, viewMessage(v))
	}
	respond(w, http.StatusOK, listPage{
		"messages": messages, "locks": q.Model().Locks(), "deduplication": q.Model().Dedup(),
	}.before(next))
}

func viewMessage(v queue.View) messageView {
	m := messageView{
		ID: v.ID, State: v.State.String(), Sent: v.Sent.UTC(), Body: v.Body, Group: v.Group, Dedup: v.Dedup,
		Sequence: v.Sequence, Source: v.Source, Count: v.Count, Receives: v.Receives,
	}
	if !v.Until.IsZero() {
		until := v.Until.UTC()
		m.Until = &until
	}
	for name, a := range v.Attributes {
		if m.Attributes == nil {
			m.Attributes = map[string]string{}
		}
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
