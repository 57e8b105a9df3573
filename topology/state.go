package topology

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/filterpolicy"
	"github.com/godwitmq/godwit/internal/native"
	"github.com/godwitmq/godwit/internal/part"
)

// ImportTerraform declares the queues and topics of SQS and SNS in a state of Terraform or OpenTofu: the file of
// version 4, as terraform state pull writes it, or the text of terraform show -json. It makes no request.
//
// Resources with the tags of Godwit, in the namespace, are declared as [Import] declares them. All others are declared
// as existing ones, which Godwit uses and never changes; a queue that is subscribed to a topic of the state becomes a
// channel of its exchange. The plan of the declaration has no step as long as the state is true, but for the tag of the
// topology.
func ImportTerraform(state []byte, name, namespace string) (*Spec, error) {
	in, err := readState(state)
	if err != nil {
		return nil, fmt.Errorf("topology: import: %w", err)
	}
	specs, foreign := in.divide(&Spec{Namespace: namespace})
	s := declared(name, namespace, specs)
	in.mapForeign(s, foreign)
	if len(s.Channels)+len(s.Exchanges) == 0 {
		return nil, errors.New("topology: import: the state has no queue of SQS and no topic of SNS in this namespace")
	}
	return s, s.Check()
}

// stateResource is a resource in a state, with attributes by the service's names.
type stateResource struct {
	driver.WantedResource
	arn string
}

// state is the resources of a state.
type state struct {
	topics, queues, subscriptions []stateResource
}

// readState reads both forms of a state.
func readState(text []byte) (*state, error) {
	var doc struct {
		Version   json.Number
		Encrypted string `json:"encrypted_data"`
		Resources []struct {
			Mode, Type string
			Instances  []struct{ Attributes map[string]any }
		}
		Values *struct {
			Root module `json:"root_module"`
		}
		Planned any `json:"planned_values"`
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&doc); err != nil {
		return nil, fmt.Errorf("the state is no JSON: %w", err)
	}
	in := new(state)
	redrives := map[string]map[string]string{} // by the names of queues
	switch {
	case doc.Encrypted != "":
		return nil, errors.New("the state is encrypted: give what tofu show -json prints")
	case doc.Planned != nil:
		return nil, errors.New("this is a plan: give the state, which terraform show -json prints without a file")
	case doc.Values != nil:
		doc.Values.Root.each(func(kind string, values map[string]any) { in.add(kind, values, redrives) })
	case doc.Version != "4":
		return nil, fmt.Errorf("the state has version %q, and this program reads 4: write it with terraform state pull of "+
			"version 0.12 or later", doc.Version)
	}
	for _, r := range doc.Resources {
		for _, one := range r.Instances {
			if r.Mode == managedMode {
				in.add(r.Type, one.Attributes, redrives)
			}
		}
	}
	for i := range in.queues {
		q := &in.queues[i]
		maps.Copy(q.Attributes, redrives[q.Name])
	}
	for _, all := range [][]stateResource{in.topics, in.queues, in.subscriptions} {
		slices.SortFunc(all, func(x, y stateResource) int { return strings.Compare(x.arn, y.arn) })
	}
	return in, nil
}

// managedMode is the mode of resources that Terraform has created. Others are only read.
const managedMode = "managed"

// module is a module in the text of terraform show -json.
type module struct {
	Resources []struct {
		Mode, Type string
		Values     map[string]any
	}
	Children []module `json:"child_modules"`
}

func (m *module) each(f func(kind string, values map[string]any)) {
	for _, r := range m.Resources {
		if r.Mode == managedMode {
			f(r.Type, r.Values)
		}
	}
	for i := range m.Children {
		m.Children[i].each(f)
	}
}

// add adds a resource of the provider. Redrive policies may be resources of their own, which name a queue by its URL.
func (in *state) add(kind string, values map[string]any, redrives map[string]map[string]string) {
	text := func(key string) string {
		if values[key] == nil {
			return ""
		}
		return fmt.Sprint(values[key]) // a text, a number as it is written, or true and false
	}
	one := stateResource{arn: text("arn")}
	one.Name, one.Attributes, one.Tags = text("name"), map[string]string{}, map[string]string{}
	tags, _ := values["tags_all"].(map[string]any)
	if tags == nil {
		tags, _ = values["tags"].(map[string]any)
	}
	for key, value := range tags {
		one.Tags[key] = fmt.Sprint(value)
	}
	switch kind {
	case "aws_sns_topic":
		one.Resource = "topic"
	case "aws_sqs_queue":
		one.Resource = "queue"
	case "aws_sns_topic_subscription":
		one.Resource = "subscription"
	case "aws_sqs_queue_redrive_policy", "aws_sqs_queue_redrive_allow_policy":
		url := text("queue_url")
		at := url[strings.LastIndexByte(url, '/')+1:]
		if redrives[at] == nil {
			redrives[at] = map[string]string{}
		}
		for name, key := range map[string]string{
			"RedrivePolicy": "redrive_policy", "RedriveAllowPolicy": "redrive_allow_policy",
		} {
			if policy := text(key); policy != "" {
				redrives[at][name] = policy
			}
		}
		return
	default:
		return
	}
	for name, a := range attributesOf(one.Resource) {
		if value := text(a.terraform); a.terraform != "" && value != "" {
			one.Attributes[name] = value
		}
	}
	of := map[string]*[]stateResource{"topic": &in.topics, "queue": &in.queues, "subscription": &in.subscriptions}
	*of[one.Resource] = append(*of[one.Resource], one)
}

// divide returns the specifications of what has Godwit's tags, and the resources that have not. What Godwit has made in
// other namespaces is left out.
func (in *state) divide(s *Spec) (specs []driver.ChannelSpec, foreign []stateResource) {
	ours := map[string]*stateResource{} // by name
	for _, all := range [][]stateResource{in.topics, in.queues} {
		for i := range all {
			r := &all[i]
			switch {
			case r.Tags["managed-by"] == "godwit" && r.Tags["namespace"] != s.Namespace:
			case r.Tags["managed-by"] == "godwit" && r.named(s):
				ours[r.Resource+" "+r.Name] = r
			default:
				foreign = append(foreign, *r)
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(ours)) {
		r := ours[key]
		if r.Channel.DeadLetter {
			continue
		}
		one := driver.ChannelSpec{Channel: r.Channel, Tags: r.Tags, Encryption: r.Attributes["KmsMasterKeyId"]}
		if r.Resource == "topic" {
			one.HighThroughput = r.Attributes["FifoThroughputScope"] == "MessageGroup"
			one.Native = native.Set(native.Topic(), r.Attributes)
		} else {
			base, ordered := strings.CutSuffix(r.Name, orderedSuffix)
			dead := base + deadSuffix
			if ordered {
				dead += orderedSuffix
			}
			in.readQueue(&one, r, ours["queue "+dead])
		}
		specs = append(specs, one)
	}
	return specs, foreign
}

// named finds the channel of a resource in its tags, and reports whether the resource has the channel's name.
func (r *stateResource) named(s *Spec) bool {
	name, dead := strings.CutSuffix(r.Tags["channel"], "@dlq")
	exchange, queue, many := cutName(name)
	parts := []string{exchange}
	r.Channel = driver.Channel{Queue: exchange, DeadLetter: dead, Ordered: strings.HasSuffix(r.Name, orderedSuffix)}
	switch {
	case r.Resource == "topic":
		r.Channel.Exchange, r.Channel.Queue = exchange, ""
	case many:
		r.Channel.Exchange, r.Channel.Queue = exchange, queue
		parts = append(parts, queue)
	}
	if dead {
		parts = append(parts, part.DeadLetters)
	}
	return r.Name == awsName(s.Namespace, r.Channel.Ordered, parts...)
}

// defaultLease is the lease of a consumer that asks for none.
const defaultLease = 30 * time.Second

// readQueue reads the settings of a queue; dead is nil if it has no dead letters.
func (in *state) readQueue(one *driver.ChannelSpec, q, dead *stateResource) {
	seconds := func(r *stateResource, name string, otherwise time.Duration) time.Duration {
		n, err := strconv.Atoi(r.Attributes[name])
		if d := time.Duration(n) * time.Second; err == nil && d != otherwise {
			return d
		}
		return 0
	}
	one.Delay = seconds(q, "DelaySeconds", 0)
	one.Retention = seconds(q, "MessageRetentionPeriod", maxRetention)
	one.Lease = seconds(q, "VisibilityTimeout", defaultLease)
	one.HighThroughput = q.Attributes["FifoThroughputLimit"] == "perMessageGroupId"
	one.Native = native.Set(native.Queue(), q.Attributes)
	if one.NoDeadLetters = dead == nil; dead != nil {
		one.DeadRetention = seconds(dead, "MessageRetentionPeriod", maxRetention)
	}
	_, one.MaxReceives = q.redrive()
	if _, filter := in.topicOf(q); filter != "" {
		one.Filter = filterpolicy.Parse(filter, routingKey)
	}
}

// routingKey is the attribute of messages that filters look at.
const routingKey = "routing_key"

// redrive is the queue of the dead letters, and after how many receives SQS moves a message there; "": none.
func (r *stateResource) redrive() (arn string, receives int) {
	var policy struct {
		Target   string `json:"deadLetterTargetArn"`
		Receives any    `json:"maxReceiveCount"` // a number, or one in quotes
	}
	if json.Unmarshal([]byte(r.Attributes["RedrivePolicy"]), &policy) != nil {
		return "", 0
	}
	receives, _ = strconv.Atoi(fmt.Sprint(policy.Receives))
	return policy.Target, receives
}

// topicOf is the topic that a queue is subscribed to, with the filter policy; "": none, or several.
func (in *state) topicOf(q *stateResource) (arn, filter string) {
	found := 0
	for _, sub := range in.subscriptions {
		if sub.Attributes["Endpoint"] == q.arn {
			arn, filter = sub.Attributes["TopicArn"], sub.Attributes["FilterPolicy"]
			found++
		}
	}
	if found != 1 {
		return "", ""
	}
	return arn, filter
}

// mapForeign declares resources that Godwit has not made as existing ones. A queue that is only another's dead letters
// is no channel.
func (in *state) mapForeign(s *Spec, foreign []stateResource) {
	dead := map[string]bool{}
	for i := range in.queues {
		if at, _ := in.queues[i].redrive(); at != "" {
			dead[at] = true
		}
	}
	taken := func(name string) bool {
		_, channel := s.Channels[name]
		_, exchange := s.Exchanges[name]
		return channel || exchange
	}
	exchanges := map[string]string{} // by the ARN of the topic
	for _, t := range in.topics {
		if e, declared := s.Exchanges[t.Channel.Exchange]; declared && e.Topic == "" {
			exchanges[t.arn] = t.Channel.Exchange
		}
	}
	for _, r := range foreign {
		if r.Resource != "topic" {
			continue
		}
		name := freeName("", r.Name, taken)
		s.Exchanges[name] = Exchange{
			Ordered: strings.HasSuffix(r.Name, orderedSuffix), Topic: r.arn, Owner: r.Tags["owner"],
		}
		exchanges[r.arn] = name
	}
	for _, r := range foreign {
		if r.Resource != "queue" || dead[r.arn] {
			continue
		}
		one := driver.ChannelSpec{
			Channel:    driver.Channel{Ordered: strings.HasSuffix(r.Name, orderedSuffix)},
			Encryption: r.Attributes["KmsMasterKeyId"],
		}
		in.readQueue(&one, &r, nil)
		letters, _ := r.redrive()
		c := Channel{
			Ordered: one.Channel.Ordered, HighThroughput: one.HighThroughput, KMSKey: one.Encryption,
			Delay: one.Delay, Retention: one.Retention, Owner: r.Tags["owner"],
			Queue: r.arn, DeadLetters: letters, NoDeadLetters: letters == "",
		}
		if one.Lease >= shortestLease {
			c.Lease = one.Lease
		}
		topic, _ := in.topicOf(&r)
		of := exchanges[topic]
		if of != "" && s.Exchanges[of].Ordered == c.Ordered {
			c.Filter = Filter{Exact: one.Filter.Exact, Prefix: one.Filter.Prefix, Exclude: one.Filter.Exclude}
			of += "."
		} else {
			of = ""
		}
		s.Channels[freeName(of, r.Name, taken)] = c
	}
}

// freeName is the name of a resource as one of a channel that is not declared yet.
func freeName(before, name string, taken func(string) bool) string {
	name = strings.Map(func(r rune) rune {
		if r == '_' || part.Legal(string(r)) {
			return r
		}
		return '-'
	}, strings.TrimSuffix(name, orderedSuffix))
	for strings.Contains(name, "--") {
		name = strings.ReplaceAll(name, "--", "-")
	}
	if name = strings.Trim(name, "-_"); !part.Legal(name) {
		name = "queue-" + name
	}
	free := before + name
	for i := 2; taken(free); i++ {
		free = fmt.Sprintf("%s%s-%d", before, name, i)
	}
	return free
}
