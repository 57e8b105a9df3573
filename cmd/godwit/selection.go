package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops"
)

// selection are the flags that select messages.
type selection struct {
	kinds    []string
	group    string
	err      string
	headers  []string
	older    time.Duration
	newer    time.Duration
	attempts int
	body     string
}

func (s *selection) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringSliceVar(&s.kinds, "kind", nil, "only dead letters of these `kinds`, such as exhausted,timeout")
	f.StringVar(&s.group, "group", "", "only dead letters of the group with this `id`, which peek --groups shows")
	f.StringVar(&s.err, "error", "", "only dead letters whose error contains this `text`")
	f.StringArrayVar(&s.headers, "header", nil, "only messages with this header, as `name=value`; may be repeated")
	f.DurationVar(&s.older, "older", 0, "only messages that were sent at least so long ago")
	f.DurationVar(&s.newer, "newer", 0, "only messages that were sent at most so long ago")
	f.IntVar(&s.attempts, "attempts", 0, "only messages that handlers have started at least so often")
	f.StringVar(&s.body, "body", "", "only messages with a JSON body for which this jq `expression` is true")
}

// ops returns the selection for package ops.
func (s *selection) ops() (ops.Selection, error) {
	out := ops.Selection{
		Kinds: s.kinds, Group: s.group, Error: s.err, OlderThan: s.older, NewerThan: s.newer, MinAttempts: s.attempts,
	}
	for _, h := range s.headers {
		name, value, ok := strings.Cut(h, "=")
		if !ok || name == "" {
			return out, fmt.Errorf("--header is %q: write name=value", h)
		}
		out.Headers = append(out.Headers, driver.Header{Name: name, Value: value})
	}
	if s.body == "" {
		return out, nil
	}
	e, err := parseExpression("--body", s.body)
	if err != nil {
		return out, err
	}
	out.Body = e.selects
	return out, nil
}
