package snssqs

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/godwitmq/godwit/internal/part"
	"github.com/godwitmq/godwit/snssqs/internal/estate"
)

// Resource replaces the queue, dead-letter queue or topic that a channel would have by its name with an existing one.
// The resource may have any name. By URL or ARN, it may be in another account or region; a name is one of the account
// and region of the backend. Godwit uses the resource, and never changes or tags it. An empty field means that there is
// no such resource.
type Resource struct {
	// Queue is the URL, ARN or name of the channel's queue. Set it to receive from a queue that exists, or to send to
	// it.
	Queue string
	// DeadLetters is the URL, ARN or name of the queue for rejected messages. Set it when Queue has no redrive policy,
	// or for another queue than the one that the policy names. "": the one of the policy; if there is none, a consumer
	// must set NoDeadLetters.
	DeadLetters string
	// Topic is the ARN or name of the topic of an exchange (wishlist_events.*), or of a single queue of it. Set it when
	// the exchange is a topic that exists.
	Topic string
	// Credentials sign the calls about these resources, for example as a role of their account; nil: those of the
	// backend. Set them when the policies of the resources do not let in the backend's own credentials.
	Credentials aws.CredentialsProvider `json:"-"`

	// RequireRoutingKey discards messages of Queue without a routing key if the consumer's Filter has Exact or Prefix,
	// as it is on Godwit's own queues. Set it if every message for the consumer has the attribute. false: messages
	// without a routing key are handled.
	RequireRoutingKey bool
}

// mappings are the entries of Options.Names.
func (o *Options) mappings() map[string]estate.Mapping {
	all := make(map[string]estate.Mapping, len(o.Names))
	for channel, r := range o.Names {
		all[channel] = estate.Mapping(r)
	}
	return all
}

// resourceName is the names that SNS allows a topic, and SQS up to 80 characters of a queue.
var resourceName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,256}(\.fifo)?$`)

// checkNames refuses mappings that cannot be right.
func checkNames(names map[string]Resource) error {
	for channel, r := range names {
		if strings.Contains(channel, "@") {
			return fmt.Errorf("snssqs: Options.Names[%q]: name the channel itself; its dead letters are the field "+
				"DeadLetters", channel)
		}
		if r.Queue == "" && r.DeadLetters == "" && r.Topic == "" {
			return fmt.Errorf("snssqs: Options.Names[%q] is empty: set Queue or Topic", channel)
		}
		if err := checkMapping(channel, r); err != nil {
			return fmt.Errorf("snssqs: Options.Names[%q]: %w", channel, err)
		}
		for field, v := range map[string]string{"Queue": r.Queue, "DeadLetters": r.DeadLetters} {
			if a, ok := estate.ParseARN(v); v != "" && !strings.Contains(v, "://") && !resourceName.MatchString(v) &&
				(!ok || a.Service != "sqs") {
				return fmt.Errorf("snssqs: Options.Names[%q].%s is %q: it must be the URL, the ARN or the name of an SQS "+
					"queue", channel, field, v)
			}
		}
		if a, ok := estate.ParseARN(r.Topic); r.Topic != "" && !resourceName.MatchString(r.Topic) &&
			(!ok || a.Service != "sns") {
			return fmt.Errorf("snssqs: Options.Names[%q].Topic is %q: it must be the ARN or the name of an SNS topic",
				channel, r.Topic)
		}
	}
	return nil
}

// checkMapping returns an error if no channel can match an entry of Options.Names. The entry would have no effect, and
// another queue or topic would be created in addition to the intended one.
func checkMapping(channel string, r Resource) error {
	first, second, oneToMany := strings.Cut(channel, ".")
	switch {
	case second == "fifo":
		return fmt.Errorf("the order is an option of producers and consumers, "+
			"not a part of the channel's name: it is %s", first)
	case !part.Legal(first), oneToMany && second != "*" && !part.Legal(second):
		return fmt.Errorf("it is not the name of a channel: " +
			"those are spelled orders, wishlist_events.* and wishlist_events.audit_log")
	case !oneToMany && r.Topic != "":
		return fmt.Errorf("%s is a one-to-one channel and has no topic; "+
			"the topic of an exchange is that of %s.*", first, first)
	case second == "*" && r.Queue+r.DeadLetters != "":
		return fmt.Errorf("it stands for all queues of the exchange, so it has a Topic only: "+
			"name each queue by its channel, as in %s.audit_log", first)
	}
	return nil
}
