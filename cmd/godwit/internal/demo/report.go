package demo

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// Report is the result of a demonstration. Its JSON form is the command's last line with --json; fields may be added,
// but not removed.
//
// A wish goes to several channels and counts once: as handled if every channel that wants it has handled it, otherwise
// by the worst end on any channel. So Sent = Handled + Dead + Left + Lost.
type Report struct {
	Sent    int `json:"sent"`    // distinct wishes accepted by the service
	Handled int `json:"handled"` // distinct wishes handled by every channel that wants them
	Retried int `json:"retried"` // attempts that failed and were retried, on all channels
	Dead    int `json:"dead"`    // distinct wishes found among the dead letters of a channel
	// Lost are the distinct wishes that, on a channel, were neither handled nor dead-lettered and do not wait any more.
	Lost       int `json:"lost"`
	Left       int `json:"left"`         // distinct wishes that still waited when an interrupted run ended
	Twice      int `json:"twice"`        // wishes handled more than once, on all channels
	OutOfOrder int `json:"out_of_order"` // wishes handled after a later one of the same user, on all channels

	Requests           int64     `json:"requests"`
	RequestsPerMessage float64   `json:"requests_per_message"`
	Seconds            float64   `json:"seconds"`
	Seed               uint64    `json:"seed"`
	Channels           []Channel `json:"channels"`
}

// Channel is one line of the table. The first line is the exchange, with the numbers of the whole report and the
// requests for sending. The other lines are the consumers' channels, with the wishes that pass the filter and the
// requests for receiving and settling.
type Channel struct {
	Name               string  `json:"name"`
	Sent               int     `json:"sent"`
	Handled            int     `json:"handled"`
	Retried            int     `json:"retried"`
	Dead               int     `json:"dead"`
	Lost               int     `json:"lost"`
	Requests           int64   `json:"requests"`
	RequestsPerMessage float64 `json:"requests_per_message"`
}

// newReport computes the report after everything has stopped.
func (j *job) newReport() (*Report, error) {
	r := &Report{
		Seconds: time.Since(j.began).Seconds(), Seed: j.o.Seed, Sent: int(j.accepted.Load()),
		Requests: j.tally.all(),
	}
	worst := map[int]end{}
	var rows []Channel
	for _, b := range j.branches {
		waiting, err := j.waiting(b)
		if err != nil {
			return nil, err
		}
		var sums [endings]int
		for number, e := range b.ledger.ends(waiting) {
			sums[e]++
			worst[number] = max(worst[number], e)
		}
		c := b.ledger.counts()
		r.Retried, r.Twice, r.OutOfOrder = r.Retried+c.Retried, r.Twice+c.Twice, r.OutOfOrder+c.OutOfOrder
		rows = append(rows, Channel{
			Name: b.channel(), Sent: c.Sent, Handled: c.Handled, Retried: c.Retried, Dead: c.Dead,
			Lost: sums[endLost], Requests: j.tally.of(b.queue(), b.deadLetters()),
		})
	}
	var sums [endings]int
	for _, e := range worst {
		sums[e]++
	}
	r.Handled, r.Dead, r.Left, r.Lost = sums[endHandled], sums[endDead], sums[endLeft], sums[endLost]
	r.RequestsPerMessage = perMessage(r.Requests, r.Sent)
	whole := Channel{
		Name: exchange + ".*", Sent: r.Sent, Handled: r.Handled, Retried: r.Retried, Dead: r.Dead,
		Lost: r.Lost, Requests: j.tally.of(""),
	}
	r.Channels = append([]Channel{whole}, rows...)
	for i := range r.Channels {
		c := &r.Channels[i]
		c.RequestsPerMessage = perMessage(c.Requests, c.Sent)
	}
	return r, nil
}

// waiting returns the numbers of the wishes that are still in a branch's queues.
func (j *job) waiting(b *branch) (map[int]bool, error) {
	waiting := map[int]bool{}
	for _, q := range b.queues(j.backend.Server()) {
		for _, m := range q.Messages() {
			w, err := readWish([]byte(m.Body))
			if err != nil {
				return nil, fmt.Errorf("reading message %s of %s: %w", m.ID, b.channel(), err)
			}
			waiting[w.Number] = true
		}
	}
	return waiting, nil
}

// perMessage returns the requests per message; 0 if none was sent.
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
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%d\t%.2f\t\n", c.Name, c.Sent, c.Handled, c.Retried, c.Dead, c.Lost,
			c.RequestsPerMessage)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	took := time.Duration(r.Seconds * float64(time.Second)).Round(10 * time.Millisecond)
	_, err := fmt.Fprintf(w, "\n%d wishes in %s, %.2f requests a wish in all, seed %d%s\n", r.Sent, took,
		r.RequestsPerMessage, r.Seed, r.remarks())
	return err
}

// remarks returns the numbers that are mentioned only if they are not zero.
func (r *Report) remarks() string {
	var s strings.Builder
	for _, one := range []struct {
		n    int
		text string
	}{
		{r.Left, "still waiting when the run was stopped"},
		{r.Twice, "handled more than once (delivery is at least once)"},
		{r.OutOfOrder, "handled OUT OF ORDER"},
		{r.Lost, "LOST"},
	} {
		if one.n > 0 {
			fmt.Fprintf(&s, "; %d %s", one.n, one.text)
		}
	}
	return s.String()
}

// WriteJSON writes the report as one line.
func (r *Report) WriteJSON(w io.Writer) error { return json.NewEncoder(w).Encode(r) }
