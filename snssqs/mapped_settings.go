package snssqs

import (
	"cmp"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/snssqs/internal/wire"
)

// shortestLease is the shortest lease that a consumer can renew in time.
const shortestLease = 3 * time.Second

// lease is the lease of a consumer that asks for none: the visibility timeout of a mapped queue, and our default on
// others. One that is too short to be renewed is not taken over.
func (q *queue) lease() time.Duration {
	if own := q.seconds(types.QueueAttributeNameVisibilityTimeout); q.foreign && own >= shortestLease {
		return own
	}
	return defaultLease
}

// seconds is the value of an attribute that counts seconds.
func (q *queue) seconds(name types.QueueAttributeName) time.Duration {
	return time.Duration(wire.Number(q.attributes[string(name)])) * time.Second
}

// warnDifferent logs once where a mapped queue differs from what a consumer's options ask for. The queue stays as it
// is, so that these options have no effect, but for Lease.
func (b *Backend) warnDifferent(s driver.ChannelSpec, q *queue) {
	if differ := q.differences(s); len(differ) > 0 && b.differing.first(s.Channel) {
		b.log.Warn("a queue of snssqs.Options.Names differs from the consumer's options, and is not changed: "+
			strings.Join(differ, "; "), "channel", s.Channel.String(), "queue", q.name)
	}
}

// differences names the settings that a consumer asks for, and that the queue has in another way.
func (q *queue) differences(s driver.ChannelSpec) (differ []string) {
	compare := func(option string, asked time.Duration, name types.QueueAttributeName, effect string) {
		if is := q.seconds(name); asked != 0 && asked != is {
			differ = append(differ,
				fmt.Sprintf("%s is %v, and %s of the queue is %v%s", option, asked, name, is, effect))
		}
	}
	compare("Lease", s.Lease, types.QueueAttributeNameVisibilityTimeout, " (this consumer receives with its Lease)")
	compare("Retention", s.Retention, types.QueueAttributeNameMessageRetentionPeriod, "")
	compare("Delay", s.Delay, types.QueueAttributeNameDelaySeconds, "")
	if is := q.attributes[string(types.QueueAttributeNameKmsMasterKeyId)]; s.Encryption != "" && s.Encryption != is {
		differ = append(differ, fmt.Sprintf("Encryption is %q, and %s of the queue is %q", s.Encryption,
			types.QueueAttributeNameKmsMasterKeyId, is))
	}
	limit := types.QueueAttributeNameFifoThroughputLimit
	if is := q.attributes[string(limit)]; s.HighThroughput && s.Channel.Ordered && is != "perMessageGroupId" {
		differ = append(differ, fmt.Sprintf("HighThroughput is set, and %s of the queue is %q", limit,
			cmp.Or(is, "perQueue")))
	}
	return differ
}

// onceFor remembers the channels for which something was done. The zero value is ready; it is safe for concurrent use.
type onceFor struct {
	mu   sync.Mutex
	done map[driver.Channel]bool
}

// first reports whether it is the first call for a channel.
func (o *onceFor) first(ch driver.Channel) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.done[ch] {
		return false
	}
	if o.done == nil {
		o.done = map[driver.Channel]bool{}
	}
	o.done[ch] = true
	return true
}
