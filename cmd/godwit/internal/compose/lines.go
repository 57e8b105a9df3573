package compose

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
)

// lineBytes is the longest line of a file.
const lineBytes = 64 << 20

// line is a message as a line of JSON.
type line struct {
	Body        json.RawMessage `json:"body"` // a string is the text itself; another value is sent as JSON
	Body64      []byte          `json:"body_base64"`
	OrderKey    string          `json:"order_key"`
	RoutingKey  string          `json:"routing_key"`
	DedupID     string          `json:"dedup_id"`
	ContentType string          `json:"content_type"`
	Type        string          `json:"type"`
	Version     int             `json:"version"`
	Headers     []struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	} `json:"headers"`
	Delay string    `json:"delay"` // as 30s
	At    time.Time `json:"at"`
}

// Lines reads a message from each line. Empty lines are skipped. What a line does not say is as in the message rest.
func Lines(in io.Reader, rest godwit.Message) Source {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 64<<10), lineBytes)
	n := 0
	return func() (godwit.Message, error) {
		for lines.Scan() {
			n++
			if len(bytes.TrimSpace(lines.Bytes())) == 0 {
				continue
			}
			m, err := readLine(lines.Bytes(), rest)
			if err != nil {
				err = fmt.Errorf("line %d: %w", n, err)
			}
			return m, err
		}
		if err := lines.Err(); err != nil {
			if errors.Is(err, bufio.ErrTooLong) {
				err = fmt.Errorf("it has more than %d MiB", lineBytes>>20)
			}
			return godwit.Message{}, fmt.Errorf("line %d: %w", n+1, err)
		}
		return godwit.Message{}, io.EOF
	}
}

func readLine(text []byte, m godwit.Message) (godwit.Message, error) {
	var l line
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&l); err != nil {
		return m, fmt.Errorf("it is no message in JSON: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return m, errors.New("there is something behind the message")
	}
	var err error
	switch {
	case l.Body != nil && l.Body64 != nil:
		return m, errors.New("it has body and body_base64: remove one of them")
	case l.Body64 != nil:
		m.Body = l.Body64
	case len(l.Body) > 0 && l.Body[0] == '"':
		var body string
		if err = json.Unmarshal(l.Body, &body); err != nil {
			return m, err
		}
		m.Body = []byte(body)
	case l.Body != nil:
		m.Body = l.Body
	}
	if l.Delay != "" {
		if m.Delay, err = time.ParseDuration(l.Delay); err != nil {
			return m, fmt.Errorf("delay is %q: use a duration such as 30s", l.Delay)
		}
		m.At = l.At
	}
	if !l.At.IsZero() {
		if l.Delay == "" {
			m.Delay = 0
		}
		m.At = l.At
	}
	set := func(to *string, value string) {
		if value != "" {
			*to = value
		}
	}
	set(&m.OrderKey, l.OrderKey)
	set(&m.RoutingKey, l.RoutingKey)
	set(&m.DedupID, l.DedupID)
	set(&m.ContentType, l.ContentType)
	set(&m.Type, l.Type)
	if l.Version != 0 {
		m.Version = l.Version
	}
	if len(l.Headers) > 0 {
		m.Headers = append(godwit.Headers{}, m.Headers...)
		for _, h := range l.Headers {
			m.Headers = append(m.Headers, driver.Header{Name: h.Name, Value: h.Value})
		}
	}
	return m, nil
}
