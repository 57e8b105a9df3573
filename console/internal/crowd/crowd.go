package crowd

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/driver/memdriver"
)

const (
	// Channels is how many channels a crowd has, and Letters how many dead letters.
	Channels = 1_000
	Letters  = 100_000
	// Dead is the page of the dead letters, of which it looks at all.
	Dead = "/channel/channel-with-a-long-name-0007@dlq/dead?look=100000"
	// Page and Heap are what a page and the memory of a console may have, in bytes.
	Page = 150_000
	Heap = 150 << 20
)

// Crowd is the backend. The dead letters are made when they are looked at, so that the memory in use is the console's.
type Crowd struct{ *memdriver.Backend }

// New makes the channels.
func New(ctx context.Context) (Crowd, error) {
	b, err := memdriver.Open(nil)
	if err != nil {
		return Crowd{}, err
	}
	for i := range Channels {
		ch := driver.Channel{Queue: fmt.Sprintf("channel-with-a-long-name-%04d", i)}
		if err := b.Ensure(ctx, driver.ChannelSpec{Channel: ch, Owner: true}); err != nil {
			return Crowd{}, err
		}
	}
	return Crowd{b}, nil
}

// dead is the channel of the dead letters.
var dead = driver.Channel{Queue: "channel-with-a-long-name-0007", DeadLetter: true}

// Inspect is driver.Operations.Inspect.
func (c Crowd) Inspect(ctx context.Context, ch driver.Channel) (driver.Depth, error) {
	if ch == dead {
		return driver.Depth{Waiting: Letters, Oldest: time.Hour}, nil
	}
	return c.Backend.Inspect(ctx, ch)
}

// Operations implements driver.Operator.
func (c Crowd) Operations() driver.Operations {
	do := driver.OperationsOf(c.Backend)
	do.Inspect = c.Inspect
	do.Peek = func(_ context.Context, _ driver.Channel, from driver.PeekFrom, most int) (
		all []driver.Peeked, err error,
	) {
		first := 0
		if from.ID != "" {
			if first, err = strconv.Atoi(from.ID); err != nil {
				return nil, err
			}
		}
		died := time.Now().Add(-time.Hour)
		for i := first; i < min(first+most, Letters); i++ {
			at := died.Add(time.Duration(i) * 30 * time.Millisecond)
			all = append(all, driver.Peeked{Delivery: driver.Delivery{
				ID: fmt.Sprintf("%06d", i), SentAt: at, Type: "order.placed",
				Body: fmt.Appendf(nil, `{"order":%d,"article":"kite","user":{"name":"Ada"}}`, i),
				Origin: &driver.Origin{ID: fmt.Sprint(i), Death: driver.Death{
					Kind: "exhausted", Error: fmt.Sprintf("cause %c: no stock for article %d", 'a'+i%20, i),
					Channel: "orders", Attempts: 3, First: at, Last: at,
				}},
			}})
		}
		return all, nil
	}
	return do
}
