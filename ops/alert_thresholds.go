package ops

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// The thresholds of a channel without tags.
const (
	// DefaultAlarmDepth is from how many waiting messages on there is an alert.
	DefaultAlarmDepth = 1000
	// DefaultAlarmAge is from which age of the oldest waiting message on there is an alert.
	DefaultAlarmAge = 15 * time.Minute
	// DefaultAlarmDeadLetters is from how many dead letters on there is an alert.
	DefaultAlarmDeadLetters = 1
)

// Thresholds are those of a channel, from which on there is an alert. Zero turns an alert off.
type Thresholds struct {
	Depth       int64         // waiting messages
	Age         time.Duration // of the oldest waiting message
	DeadLetters int64         // of dead letters
	Wrong       []string      // the tags that cannot be used, and why
}

// ThresholdsOf reads the tags of a channel, as godwit.Ownership writes them.
func ThresholdsOf(c *driver.ChannelInfo) (t Thresholds) {
	number := func(tag string, instead int64) int64 {
		text, set := c.Tags[tag]
		if !set {
			return instead
		}
		n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
		why := ""
		switch {
		case err != nil:
			why = "no number"
		case n < 0:
			why = "below zero"
		default:
			return n
		}
		t.Wrong = append(t.Wrong, fmt.Sprintf("its tag %s is %q, which is %s: %d is used", tag, text, why, instead))
		return instead
	}
	if c.Channel.DeadLetter {
		t.DeadLetters = number("alarm-dead-letters", DefaultAlarmDeadLetters)
		return t
	}
	t.Depth = number("alarm-depth", DefaultAlarmDepth)
	seconds := number("alarm-age", int64(DefaultAlarmAge/time.Second))
	t.Age = time.Duration(min(seconds, int64(maxAge/time.Second))) * time.Second
	return t
}

// maxAge bounds alarm-age, so that it fits into a Duration. It is longer than any service keeps messages.
const maxAge = 100 * 365 * 24 * time.Hour
