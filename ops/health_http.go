package ops

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Handler serves /livez, /readyz and /startupz, which answer 200 or 503 with the reasons, and the report as JSON with
// ?verbose; /debug/stuck, the stacks of handlers that have used more than half of their time; and /demand, as
// [DemandHandler] does, with what the consumers of this process measure. Serve it on an address that only the operator
// reaches.
func (h *Health) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", h.answer(func(r *HealthReport) []string { return r.Complaints(true) }))
	mux.HandleFunc("GET /readyz", h.answer(func(r *HealthReport) []string {
		if !r.Started() {
			return append(r.Complaints(false), "not all consumers have been made")
		}
		return r.Complaints(false)
	}))
	mux.HandleFunc("GET /startupz", h.answer(func(r *HealthReport) []string {
		if !r.Started() {
			return []string{"not all consumers have been made"}
		}
		return nil
	}))
	mux.HandleFunc("GET /debug/stuck", h.stuck)
	mux.HandleFunc("GET /demand", answerDemand(h.demand))
	return mux
}

// answer answers with 200 if there is no complaint.
func (h *Health) answer(complaints func(r *HealthReport) []string) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		report := h.Report()
		all := complaints(&report)
		status, text := http.StatusOK, "ok\n"
		if len(all) > 0 {
			status, text = http.StatusServiceUnavailable, strings.Join(all, "\n")+"\n"
		}
		w.Header().Set("Cache-Control", "no-store")
		if req.URL.Query().Has("verbose") {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_ = json.NewEncoder(w).Encode(report) // the client has gone
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(text)) // as above
	}
}

// demand asks the consumers of this process, or that of one channel.
func (h *Health) demand(ctx context.Context, q url.Values) (v any, status int, err error) {
	all, channel := []ChannelDemand{}, q.Get("channel")
	for _, one := range h.made() {
		if channel != "" && one.name != channel {
			continue
		}
		d, err := one.consumer.Demand(ctx)
		if err != nil {
			return nil, http.StatusServiceUnavailable, err
		}
		demand := ChannelDemand{
			Channel: one.name, Backlog: d.Backlog, InFlight: d.InFlight, AgeSeconds: d.Age.Seconds(),
			Workers: d.Workers, Consumers: d.Consumers,
		}
		if channel != "" {
			return demand, http.StatusOK, nil
		}
		all = append(all, demand)
	}
	if channel != "" {
		return nil, http.StatusNotFound, fmt.Errorf("ops: this process has no consumer of %s", channel)
	}
	return all, http.StatusOK, nil
}

// made returns the consumers that are made.
func (h *Health) made() (all []watched) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, one := range h.consumers {
		if one.consumer != nil {
			all = append(all, *one)
		}
	}
	return all
}

// stuck shows where handlers are that have used more than half of their time.
func (h *Health) stuck(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	now, n := time.Now(), 0
	for _, one := range h.made() {
		health := one.consumer.Health()
		for _, slow := range one.consumer.Slow(health.ProcessingTimeout / 2) {
			n++
			_, _ = fmt.Fprintf(w, "%s: message %s, for %v of %v\n%s\n\n", one.name, slow.MessageID,
				now.Sub(slow.Since).Round(time.Millisecond), health.ProcessingTimeout, slow.Stack)
		}
	}
	if n == 0 {
		_, _ = fmt.Fprintln(w, "no handler has used more than half of its time")
	}
}
