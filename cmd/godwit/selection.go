package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/godwitmq/godwit/cmd/godwit/internal/jq"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/deathkind"
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
	f.Var((*span)(&s.older), "older", "only messages that were sent at least so long ago, as 90m or 2d")
	f.Var((*span)(&s.newer), "newer", "only messages that were sent at most so long ago, as 90m or 2d")
	f.IntVar(&s.attempts, "attempts", 0, "only messages that handlers have started at least so often")
	f.StringVar(&s.body, "body", "", "only messages with a JSON body for which this jq `expression` is true")
}

// span is a flag with a duration, which may be in days.
type span time.Duration

func (s *span) String() string {
	if *s == 0 {
		return "" // help then shows no default
	}
	return time.Duration(*s).String()
}

func (s *span) Type() string { return "duration" }

func (s *span) Set(text string) error {
	d, err := parseSpan(text)
	if err != nil || d <= 0 {
		return errors.New("use a duration such as 90s, 2h or 3d")
	}
	*s = span(d)
	return nil
}

// parseSpan reads a duration, which may be a number of days.
func parseSpan(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseFloat(days, 64)
		return time.Duration(n * float64(24*time.Hour)), err
	}
	return time.ParseDuration(text)
}

// check checks what the types of flags do not.
func (s *selection) check() error {
	for _, kind := range s.kinds {
		if !slices.Contains(deathkind.All(), kind) {
			return fmt.Errorf("--kind is %q: the kinds are %s", kind, strings.Join(deathkind.All(), ", "))
		}
	}
	switch {
	case s.attempts < 0:
		return fmt.Errorf("--attempts is %d: it cannot be negative", s.attempts)
	case s.newer > 0 && s.newer < s.older:
		return fmt.Errorf("--older %v and --newer %v: no message is both", s.older, s.newer)
	}
	return nil
}

// ops returns the selection for package ops.
func (s *selection) ops() (ops.Selection, error) {
	if err := s.check(); err != nil {
		return ops.Selection{}, err
	}
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
	e, err := jq.Parse("--body", s.body)
	if err != nil {
		return out, err
	}
	out.Body = e.Selects
	return out, nil
}
