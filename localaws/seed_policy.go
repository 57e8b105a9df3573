package localaws

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/godwitmq/godwit/localaws/s3"
	"github.com/godwitmq/godwit/localaws/sqs"
	"github.com/godwitmq/godwit/localaws/wire"
)

// snsPrincipal is SNS in policies.
const snsPrincipal = "sns.amazonaws.com"

// permission lets a service act on a resource for some of its own.
type permission struct {
	service, action, resource string
	sources                   []string // ARNs
}

// policyOf is a policy that consists of permissions.
func policyOf(all ...permission) string {
	type statement map[string]any
	var statements []statement
	for _, a := range all {
		statements = append(statements, statement{
			"Effect": "Allow", "Principal": map[string]string{"Service": a.service}, "Action": a.action,
			"Resource":  a.resource,
			"Condition": map[string]any{"ArnEquals": map[string]any{"aws:SourceArn": a.sources}},
		})
	}
	text, err := json.Marshal(map[string]any{"Version": "2012-10-17", "Statement": statements})
	if err != nil {
		panic(err) // strings can be encoded
	}
	return string(text)
}

// guest is a topic or bucket of a seed that sends to a queue.
type guest struct {
	queue           string // its name, or its ARN
	in              *services
	service, source string
}

// guests are the topics and buckets of a seed that send to queues.
func (c *seedContent) guests(p *places) (all []guest) {
	for _, t := range c.topics {
		in, err := p.seeded(t.value.seedPlace)
		if err != nil {
			continue // an error of the topic
		}
		for _, sub := range t.value.Subscriptions {
			name := cmp.Or(sub.Queue, sub.Endpoint)
			if sub.Queue != "" || wire.IsOf("sqs", name) {
				all = append(all, guest{name, in, snsPrincipal, in.at.ARN("sns", t.value.Name)})
			}
		}
	}
	for _, b := range c.buckets {
		in, err := p.seeded(b.value.seedPlace)
		if err != nil {
			continue // an error of the bucket
		}
		for _, n := range b.value.Notifications {
			if n.Queue != "" {
				all = append(all, guest{n.Queue, in, s3Principal, s3.ARN(in.at.Region, b.value.Name)})
			}
		}
	}
	return all
}

// admitGuests lets the topics and buckets of a seed send to its queues that have no policy of their own, because a seed
// that names a subscription means its deliveries.
func (c *seedContent) admitGuests(p *places) error {
	admitted := map[*sqs.Queue][]permission{}
	var queues []*sqs.Queue
	for _, g := range c.guests(p) {
		if strings.HasPrefix(g.queue, "arn:") {
			g.in = p.named(g.queue)
		}
		q := g.in.sqs.Queue(g.queue)
		if q == nil || q.HasPolicy() {
			continue // a missing queue is an error of what names it
		}
		if admitted[q] == nil {
			queues = append(queues, q)
		}
		all := admitted[q]
		i := slices.IndexFunc(all, func(a permission) bool { return a.service == g.service })
		if i < 0 {
			i = len(all)
			all = append(all, permission{service: g.service, action: "sqs:SendMessage", resource: q.ARN()})
		}
		if !slices.Contains(all[i].sources, g.source) {
			all[i].sources = append(all[i].sources, g.source)
		}
		admitted[q] = all
	}
	for _, q := range queues {
		in := p.named(q.ARN())
		if err := in.sqs.Configure(q.Name(), map[string]string{"Policy": policyOf(admitted[q]...)}); err != nil {
			return err
		}
	}
	return nil
}
