package client

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	// closePatience bounds how long a client may take to leave its group, for example if the broker does not answer.
	closePatience = 5 * time.Second
	// leastPatience is its smallest time, if the caller's context has ended.
	leastPatience = 200 * time.Millisecond
	// CutPatience is how long a client may take to end after Cut. Then it waits only for its own goroutines, and a
	// second for its metrics.
	CutPatience = 2 * time.Second
)

// Client is a client of Kafka that can be closed at any time.
type Client struct {
	*kgo.Client
	Cut context.CancelFunc // closes the client at once, whatever it waits for
}

// Close closes the client. A client that is joining its group cannot leave the group before the join is over. If that
// takes too long, Close cuts the client and returns ErrCut: the group still counts the member.
func (c *Client) Close(ctx context.Context) error {
	defer c.Cut()
	done := make(chan struct{})
	go func() { // its owner is Close, unless the caller's own dialer ignores its context
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
	// ErrCut is returned if the client was closed by force: it may not have told the brokers that it leaves.
	ErrCut   = errors.New("kafka: the client did not close in time, and was closed by force")
	errStuck = errors.New("kafka: the client was closed by force and still runs: a dialer, or another option in " +
		"kafka.Options.Client, must return when its context ends")
)

// ended waits for done, and returns false if patience or ctx ends first.
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

// Logger passes on franz-go's log, from the level of warnings: lower levels have lines for each request.
type Logger struct{ To *slog.Logger }

// Level implements kgo.Logger.
func (l Logger) Level() kgo.LogLevel {
	if l.To.Enabled(context.Background(), slog.LevelWarn) {
		return kgo.LogLevelWarn
	}
	return kgo.LogLevelNone
}

// Log implements kgo.Logger.
func (l Logger) Log(level kgo.LogLevel, msg string, keyvals ...any) {
	to := slog.LevelWarn
	if level == kgo.LogLevelError {
		to = slog.LevelError
	}
	l.To.Log(context.Background(), to, "kafka client: "+msg, keyvals...)
}
