package client

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	// closePatience bounds how long a client may take to say goodbye: to a broker that does not answer, say.
	closePatience = 5 * time.Second
	// leastPatience is what it gets from a caller who has no time left.
	leastPatience = 200 * time.Millisecond
	// CutPatience is how long one that was cut off may take to end. It has nothing to wait for but its own goroutines,
	// and a second for its metrics.
	CutPatience = 2 * time.Second
)

// Client is a client of Kafka that can be ended whatever it is waiting for.
type Client struct {
	*kgo.Client
	Cut context.CancelFunc // ends the client at once, whatever it is waiting for
}

// New makes a client; it makes no request.
func New(opts []kgo.Opt) (*Client, error) {
	ctx, cut := context.WithCancel(context.Background())
	c, err := kgo.NewClient(append([]kgo.Opt{kgo.WithContext(ctx)}, opts...)...)
	if err != nil {
		cut()
		return nil, fmt.Errorf("kafka: make the client: %w", err)
	}
	return &Client{Client: c, Cut: cut}, nil
}

// Close ends the client. One that is waiting for its group to be joined hears of nothing before that is over, and is
// cut off; then it is ErrCut, and the group does not know.
func (c *Client) Close(ctx context.Context) error {
	defer c.Cut()
	done := make(chan struct{})
	go func() { // waited for, unless the caller's own dialer or context holds it up
		defer close(done)
		c.CloseAllowingRebalance()
	}()
	if ended(ctx, done, closePatience) || ended(context.WithoutCancel(ctx), done, leastPatience) {
		return nil
	}
	c.Cut()
	if ended(context.WithoutCancel(ctx), done, CutPatience) {
		return ErrCut
	}
	return errStuck
}

var (
	// ErrCut says that the client was cut off: what it wanted to tell the brokers at its end is not told.
	ErrCut   = errors.New("kafka: the client did not end in time, and was cut off")
	errStuck = errors.New("kafka: the client was cut off and does not end: a Dialer or another option in " +
		"kafka.Options.Client ignores its context, and goes on in the background")
)

// ended waits for done.
func ended(ctx context.Context, done <-chan struct{}, patience time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case <-done:
		return true
	case <-ctx.Done():
		return false
	}
}

// Logger passes what franz-go says on, from warnings up: below that it speaks of every request.
type Logger struct{ To *slog.Logger }

// Level is kgo.Logger's.
func (l Logger) Level() kgo.LogLevel {
	if l.To.Enabled(context.Background(), slog.LevelWarn) {
		return kgo.LogLevelWarn
	}
	return kgo.LogLevelNone
}

// Log is kgo.Logger's.
func (l Logger) Log(level kgo.LogLevel, msg string, keyvals ...any) {
	to := slog.LevelWarn
	if level == kgo.LogLevelError {
		to = slog.LevelError
	}
	l.To.Log(context.Background(), to, "kafka client: "+msg, keyvals...)
}
