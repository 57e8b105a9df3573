package sns

import (
	"context"
	"fmt"
	"strings"

	"github.com/godwitmq/godwit/localaws/wire"
)

// Seed is a topic with its subscriptions, as in a seed file.
type Seed struct {
	Name          string             `json:"name"`
	Attributes    map[string]string  `json:"attributes"`
	Tags          map[string]string  `json:"tags"`
	Subscriptions []SeedSubscription `json:"subscriptions"`
}

// SeedSubscription is one subscription of a Seed. It names either a Queue, by name or ARN, or an Endpoint: an http or
// https URL, or the endpoint of Protocol.
type SeedSubscription struct {
	Queue      string            `json:"queue"`
	Endpoint   string            `json:"endpoint"`
	Protocol   string            `json:"protocol"`
	Attributes map[string]string `json:"attributes"`
}

// Plant creates what a seed describes. baseURL is the server's URL for confirmations. An error names the invalid field.
func (s *Service) Plant(ctx context.Context, seed Seed, baseURL string) error {
	c := call{ctx: ctx, at: s, Call: &wire.Call{
		Service: "sns", Action: "Subscribe", Account: s.opts.Account, Owner: s.opts.Account, Region: s.opts.Region,
		BaseURL: baseURL,
	}}
	out, err := createTopic(c,
		&CreateTopicInput{Name: seed.Name, Attributes: seed.Attributes, Tags: tagList(seed.Tags)})
	if err != nil {
		return fmt.Errorf("topic %q: %w", seed.Name, err)
	}
	for i, sub := range seed.Subscriptions {
		in, err := s.planted(sub)
		if err == nil {
			own := *c.Call
			if at, ok := wire.PlaceOf(in.Endpoint); ok && in.Protocol == "sqs" {
				own.Account = at.Account // the queue's owner subscribes, and need not confirm
			}
			_, err = enroll(call{ctx: ctx, at: s, Call: &own}, out.TopicArn, in)
		}
		if err != nil {
			return fmt.Errorf("topic %q, subscriptions[%d]: %w", seed.Name, i, err)
		}
	}
	return nil
}

func (s *Service) planted(sub SeedSubscription) (*SubscribeInput, error) {
	protocol, _, isURL := strings.Cut(sub.Endpoint, "://")
	switch {
	case (sub.Queue == "") == (sub.Endpoint == ""):
		return nil, fmt.Errorf("exactly one of queue and endpoint must be set, not %q and %q", sub.Queue, sub.Endpoint)
	case sub.Protocol != "" && sub.Queue != "":
		return nil, fmt.Errorf("protocol %q goes with endpoint, not with queue", sub.Protocol)
	case sub.Protocol != "":
		return &SubscribeInput{Protocol: sub.Protocol, Endpoint: sub.Endpoint, Attributes: sub.Attributes}, nil
	case sub.Queue == "" && !isURL:
		return nil, fmt.Errorf("endpoint %q is not an http or https URL, and has no protocol", sub.Endpoint)
	case sub.Queue == "":
		return &SubscribeInput{Protocol: protocol, Endpoint: sub.Endpoint, Attributes: sub.Attributes}, nil
	}
	arn := sub.Queue
	if !strings.HasPrefix(arn, "arn:") {
		arn = s.place().ARN("sqs", sub.Queue)
	}
	if _, ok := s.opts.Queues.Queue(arn); !ok {
		return nil, fmt.Errorf("queue %q does not exist", sub.Queue)
	}
	return &SubscribeInput{Protocol: "sqs", Endpoint: arn, Attributes: sub.Attributes}, nil
}
