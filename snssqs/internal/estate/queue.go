package estate

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/snssqs/internal/client"
	"github.com/godwitmq/godwit/snssqs/internal/wire"
)

// Queue is what is known about an existing queue.
type Queue struct {
	Name, URL, Region string
	Foreign           bool
	credentials       aws.CredentialsProvider // nil: the backend's
	Attributes        map[string]string
}

// ARN is "" of a nil Queue, where there is none.
func (q *Queue) ARN() string {
	if q == nil {
		return ""
	}
	return q.Attributes[string(types.QueueAttributeNameQueueArn)]
}

// Policy is the text of the policy; "": it has none.
func (q *Queue) Policy() string { return q.Attributes[string(types.QueueAttributeNamePolicy)] }

// MaxBytes returns the maximum size of a message, including attributes.
func (q *Queue) MaxBytes() int {
	n, err := strconv.Atoi(q.Attributes[string(types.QueueAttributeNameMaximumMessageSize)])
	if err != nil || n <= 0 {
		return client.MaxBytes
	}
	return n
}

// Created is when the queue was created.
func (q *Queue) Created() time.Time {
	s, err := strconv.ParseInt(q.Attributes[string(types.QueueAttributeNameCreatedTimestamp)], 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.Unix(s, 0)
}

// Seconds is the value of an attribute that counts seconds.
func (q *Queue) Seconds(name types.QueueAttributeName) time.Duration {
	return time.Duration(wire.Number(q.Attributes[string(name)])) * time.Second
}

// shortestLease is the shortest lease that a consumer can renew in time.
const shortestLease = 3 * time.Second

// Lease is the lease of a consumer that asks for none: the visibility timeout of a mapped queue, and our default on
// others. One that is too short to be renewed is not taken over.
func (q *Queue) Lease() time.Duration {
	if own := q.Seconds(types.QueueAttributeNameVisibilityTimeout); q.Foreign && own >= shortestLease {
		return own
	}
	return DefaultLease
}

// enoughReceives is how many receives a queue should allow a message before SQS dead-letters it. Each release counts as
// a receive: if the number is smaller, a few deployments and crashes dead-letter a message that was never handled.
const enoughReceives = 10

// FewReceives reports whether the queue's own redrive policy allows only a few receives. A queue that Godwit provisions
// allows enough.
func (q *Queue) FewReceives() bool {
	n := q.MaxReceives()
	return n > 0 && n < enoughReceives
}

// MaxReceives returns after how many receives SQS itself dead-letters a message; 0: never.
func (q *Queue) MaxReceives() int {
	p, ok := q.redrive()
	if !ok {
		return 0
	}
	return p.MaxReceiveCount
}

// redrive is the redrive policy of the queue; false: it has none that can be read.
func (q *Queue) redrive() (redrivePolicy, bool) {
	return parseRedrive(q.Attributes[string(types.QueueAttributeNameRedrivePolicy)])
}

// redrivePolicy makes SQS itself move messages to the dead letters after too many receives.
type redrivePolicy struct {
	DeadLetterTargetArn string `json:"deadLetterTargetArn"`
	MaxReceiveCount     int    `json:"maxReceiveCount"`
}

// parseRedrive reads a redrive policy, in which the number may also be a string.
func parseRedrive(text string) (p redrivePolicy, ok bool) {
	var raw struct {
		DeadLetterTargetArn string `json:"deadLetterTargetArn"`
		MaxReceiveCount     any    `json:"maxReceiveCount"`
	}
	if json.Unmarshal([]byte(text), &raw) != nil {
		return p, false
	}
	n, err := strconv.Atoi(fmt.Sprint(raw.MaxReceiveCount))
	return redrivePolicy{raw.DeadLetterTargetArn, n}, err == nil
}

// At directs a call to the queue's own region, with its credentials.
func (q *Queue) At() func(*sqs.Options) {
	return func(o *sqs.Options) {
		if q.Region != "" {
			o.Region = q.Region
		}
		if q.credentials != nil {
			o.Credentials = q.credentials
		}
	}
}

// differences names the settings that a consumer asks for, and that the queue has in another way.
func (q *Queue) differences(s driver.ChannelSpec) (differ []string) {
	compare := func(option string, asked time.Duration, name types.QueueAttributeName, effect string) {
		if is := q.Seconds(name); asked != 0 && asked != is {
			differ = append(differ,
				fmt.Sprintf("%s is %v, and %s of the queue is %v%s", option, asked, name, is, effect))
		}
	}
	compare("Lease", s.Lease, types.QueueAttributeNameVisibilityTimeout, " (this consumer receives with its Lease)")
	compare("Retention", s.Retention, types.QueueAttributeNameMessageRetentionPeriod, "")
	compare("Delay", s.Delay, types.QueueAttributeNameDelaySeconds, "")
	if is := q.Attributes[string(types.QueueAttributeNameKmsMasterKeyId)]; s.Encryption != "" && s.Encryption != is {
		differ = append(differ, fmt.Sprintf("Encryption is %q, and %s of the queue is %q", s.Encryption,
			types.QueueAttributeNameKmsMasterKeyId, is))
	}
	limit := types.QueueAttributeNameFifoThroughputLimit
	if is := q.Attributes[string(limit)]; s.HighThroughput && s.Channel.Ordered && is != "perMessageGroupId" {
		differ = append(differ, fmt.Sprintf("HighThroughput is set, and %s of the queue is %q", limit,
			cmp.Or(is, "perQueue")))
	}
	return differ
}

func kindOfQueue(ordered bool) string {
	if ordered {
		return "ordered (FIFO)"
	}
	return "not ordered"
}

// Depth is how many messages the queue had when its attributes were read, as SQS counts them: approximately.
func (q *Queue) Depth() (driver.Depth, error) {
	d := driver.Depth{Oldest: -1}
	var errs []error
	for attribute, n := range map[types.QueueAttributeName]*int64{
		types.QueueAttributeNameApproximateNumberOfMessages:           &d.Waiting,
		types.QueueAttributeNameApproximateNumberOfMessagesNotVisible: &d.InFlight,
		types.QueueAttributeNameApproximateNumberOfMessagesDelayed:    &d.Delayed,
	} {
		var err error
		if *n, err = strconv.ParseInt(q.Attributes[string(attribute)], 10, 64); err != nil {
			errs = append(errs, fmt.Errorf("queue %s: %s is not a number: %w", q.Name, attribute, err))
		}
	}
	return d, errors.Join(errs...)
}
