package selection

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/godwitmq/godwit/cmd/godwit/internal/jq"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/deathkind"
	"github.com/godwitmq/godwit/ops"
)

// Words are what an operator says about messages. Zero fields say nothing.
type Words struct {
	Kinds    []string      // of dead letters
	Group    string        // the id of a group of dead letters
	Error    string        // a part of the error of dead letters
	Keys     []string      // order keys
	Types    []string      // of messages
	Headers  []string      // as name=value
	Older    time.Duration // how long ago a message was sent, at least
	Newer    time.Duration // the same, at most
	Attempts int           // how often handlers have started, at least
	Body     string        // an expression of jq that is true for the body
}

// Add adds a flag for each field.
func (s *Words) Add(f *pflag.FlagSet) {
	f.StringSliceVar(&s.Kinds, "kind", nil, "only dead letters of these `kinds`; such as exhausted,timeout")
	f.StringVar(&s.Group, "group", "", "only dead letters of a group; its `id` is that of peek --groups")
	f.StringVar(&s.Error, "error", "", "only dead letters whose error contains this `text`")
	f.StringSliceVar(&s.Keys, "key", nil, "only messages with these order `keys`")
	f.StringSliceVar(&s.Types, "type", nil, "only messages of these `types`")
	f.StringArrayVar(&s.Headers, "header", nil, "only messages with this header, `name=value`; may be repeated")
	f.Var((*Span)(&s.Older), "older", "only messages sent at least so long ago; as 90m or 2d")
	f.Var((*Span)(&s.Newer), "newer", "only messages sent at most so long ago; as 90m or 2d")
	f.IntVar(&s.Attempts, "attempts", 0, "only messages that were started at least so `often`")
	f.StringVar(&s.Body, "body", "", "only JSON bodies for which this jq `filter` is true")
}

// Span is a flag with a duration, which may be in days.
type Span time.Duration

// String implements pflag.Value.
func (s *Span) String() string {
	if *s == 0 {
		return "" // help then shows no default
	}
	return time.Duration(*s).String()
}

// Type implements pflag.Value.
func (s *Span) Type() string { return "duration" }

// Set implements pflag.Value.
func (s *Span) Set(text string) error {
	d, err := ParseSpan(text)
	if err != nil || d <= 0 {
		return errors.New("use a duration such as 90s, 2h or 3d")
	}
	*s = Span(d)
	return nil
}

// ParseSpan reads a duration, which may be a number of days.
func ParseSpan(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseFloat(days, 64)
		return time.Duration(n * float64(24*time.Hour)), err
	}
	return time.ParseDuration(text)
}

// groupID matches the ids of ops.Group.
var groupID = regexp.MustCompile(`^[0-9a-f]{8}$`)

// check checks what the types of flags do not.
func (s *Words) check() error {
	for _, kind := range s.Kinds {
		if !slices.Contains(deathkind.All(), kind) {
			return fmt.Errorf("--kind is %q: the kinds are %s", kind, strings.Join(deathkind.All(), ", "))
		}
	}
	switch {
	case s.Group != "" && !groupID.MatchString(s.Group):
		return fmt.Errorf("--group is %q: use the id of a group that `godwit peek CHANNEL --groups` shows, such as 3f9d0a5b",
			s.Group)
	case s.Attempts < 0:
		return fmt.Errorf("--attempts is %d: it cannot be negative", s.Attempts)
	case s.Newer > 0 && s.Newer < s.Older:
		return fmt.Errorf("--older %v and --newer %v: no message is both", s.Older, s.Newer)
	}
	return nil
}

// Selection returns what the words select. When ctx ends, so does what looks at a body.
func (s *Words) Selection(ctx context.Context) (ops.Selection, error) {
	if err := s.check(); err != nil {
		return ops.Selection{}, err
	}
	out := ops.Selection{
		Kinds: s.Kinds, Group: s.Group, Error: s.Error, Keys: s.Keys, Types: s.Types, OlderThan: s.Older,
		NewerThan: s.Newer, MinAttempts: s.Attempts,
	}
	for _, h := range s.Headers {
		name, value, ok := strings.Cut(h, "=")
		if !ok || name == "" {
			return out, fmt.Errorf("--header is %q: write name=value", h)
		}
		out.Headers = append(out.Headers, driver.Header{Name: name, Value: value})
	}
	if s.Body == "" {
		return out, nil
	}
	e, err := jq.Parse(ctx, "--body", s.Body)
	if err != nil {
		return out, err
	}
	out.Body = e.Selects
	return out, nil
}
