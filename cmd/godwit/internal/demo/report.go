package demo

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// Report is how a demonstration went. Its JSON form is the command's last line under --json; fields are only ever added.
type Report struct {
	Sent    int `json:"sent"`    // distinct orders accepted by the service
	Handled int `json:"handled"` // distinct orders handled
	Retried int `json:"retried"` // attempts that failed and were followed by another
	Dead    int `json:"dead"`    // distinct orders found among the dead letters
	Lost    int `json:"lost"`    // orders sent that are neither handled, nor dead, nor still waiting
	Left    int `json:"left"`    // orders still waiting when an interrupted run ended
	Twice   int `json:"twice"`   // orders handled more than once

	Requests           int64     `json:"requests"`
	RequestsPerMessage float64   `json:"requests_per_message"`
	Seconds            float64   `json:"seconds"`
	Seed               uint64    `json:"seed"`
	Channels           []Channel `json:"channels"`
}

// Channel is one line of the table.
type Channel struct {
	Name     string `json:"name"`
	Sent     int    `json:"sent"`
	Handled  int    `json:"handled"`
	Retried  int    `json:"retried"`
	Dead     int    `json:"dead"`
	Lost     int    `json:"lost"`
	Requests int64  `json:"requests"`
}

// perMessage is the cost of a message in requests; 0 where nothing was sent.
func perMessage(requests int64, sent int) float64 {
	if sent == 0 {
		return 0
	}
	return float64(requests) / float64(sent)
}

// WriteTable writes the report for people.
func (r *Report) WriteTable(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "channel\tsent\thandled\tretried\tdead-lettered\tlost\trequests/message\t")
	for _, c := range r.Channels {
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%d\t%.2f\t\n", c.Name, c.Sent, c.Handled, c.Retried, c.Dead, c.Lost, perMessage(c.Requests, c.Sent))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	took := time.Duration(r.Seconds * float64(time.Second)).Round(10 * time.Millisecond)
	_, err := fmt.Fprintf(w, "\n%s, seed %d%s\n", took, r.Seed, r.remarks())
	return err
}

// remarks are what is only said when there is something to say.
func (r *Report) remarks() string {
	s := ""
	if r.Left > 0 {
		s += fmt.Sprintf("; %d still waiting when it was stopped", r.Left)
	}
	if r.Twice > 0 {
		s += fmt.Sprintf("; %d handled more than once (delivery is at least once)", r.Twice)
	}
	if r.Lost > 0 {
		s += fmt.Sprintf("; %d LOST", r.Lost)
	}
	return s
}

// WriteJSON writes the report as one line.
func (r *Report) WriteJSON(w io.Writer) error { return json.NewEncoder(w).Encode(r) }
