package wire

import (
	"crypto/rand"
	"strconv"
	"strings"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/snssqs/internal/client"
)

// CancelID names a message that can be cancelled: orders.1803891600.4f1c09ab.K5LZ…
type CancelID struct {
	Channel string    // the channel, or the exchange, beside which it waits
	Due     time.Time // by the sender's clock, so it says only roughly when; zero: it was sent at once
	Place   string    // of the decision about it, as a hash
	random  string
}

// String is the text of the id, which is also the name of the decision.
func (id CancelID) String() string {
	due := int64(0)
	if !id.Due.IsZero() {
		due = id.Due.Unix()
	}
	return strings.Join([]string{id.Channel, strconv.FormatInt(due, 10), id.Place, id.random}, ".")
}

// ParseCancelID reads the text of an id.
func ParseCancelID(text string) (CancelID, error) {
	parts := strings.Split(text, ".")
	if len(parts) == 4 && len(parts[3]) == len(rand.Text()) {
		id := CancelID{Channel: parts[0], Place: parts[2], random: parts[3]}
		due, err := strconv.ParseInt(parts[1], 10, 64)
		if due > 0 {
			id.Due = time.Unix(due, 0)
		}
		if err == nil && id.String() == text {
			return id, nil
		}
	}
	return CancelID{}, client.Permanent("%q is not the id of a message that can be cancelled: it is in the receipt of the "+
		"message", text)
}

// Cancelling makes the ids of the messages of a channel that can be cancelled.
type Cancelling struct {
	Channel, Place string        // as in CancelID
	Within         time.Duration // the longest delay of such a message; 0: any
}

// id is a new one, of a message that is due after a delay; 0: it is sent at once.
func (c *Cancelling) id(delay time.Duration) string {
	id := CancelID{Channel: c.Channel, Place: c.Place, random: rand.Text()}
	if delay > 0 {
		id.Due = time.Now().Add(delay)
	}
	return id.String()
}

// CancelIDOf is the id of a prepared message; "": it cannot be cancelled.
func CancelIDOf(p driver.Prepared) string { return p.Wire.(*prepared).cancelID }
