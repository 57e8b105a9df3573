package topology

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/godwitmq/godwit/internal/part"
)

// RolePolicy is the least policy of a role, as a document of IAM.
type RolePolicy struct {
	// Role is producer, consumer, provisioner, operator or sweeper; or key, with statements for the policy of a key.
	Role string `json:"role"`
	// Key is the key of KMS to whose policy the statements belong; "": the policy is not that of a key.
	Key string `json:"key,omitempty"`
	// Channel is what it produces to or consumes from; "": all that is declared.
	Channel string         `json:"channel,omitempty"`
	Policy  map[string]any `json:"policy"`
}

// PoliciesOptions say where the resources are.
type PoliciesOptions struct {
	// Region and Account are where the resources are. Set them, or replace REGION and ACCOUNT in the policies.
	Region, Account string
	// Partition is the first part of ARNs; "": aws. Set it in China, and in AWS GovCloud.
	Partition string
	// Later adds what producers and consumers need for messages that wait for their time in orders@later, and for those
	// of schedules on channels without order in orders@ticks (docs/later.md). Set it if there are schedules, or if
	// messages are delayed for longer than SQS does, or on ordered channels or exchanges. Spec.Decisions has the same
	// effect.
	Later bool
}

// Policies returns the least policies of IAM for the declared channels: of the producers and consumers of each, with
// ProvisionNever; of a provisioner, which plans and applies the declaration; of an operator, who does with the declared
// channels all that package ops can do, but removing them; and of a sweeper, which deletes what nobody uses of the
// whole namespace. Resources that the declaration maps are those of their owners, and are named as the declaration does
// if that is an ARN. Channels with a KMS key have a statement about it. A key of
// queues that belong to exchanges also has to let SNS in, by a statement of its own policy.
func Policies(s *Spec, o *PoliciesOptions) ([]RolePolicy, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	var opts PoliciesOptions
	if o != nil {
		opts = *o
	}
	opts.Later = opts.Later || s.Decisions.Bucket != ""
	at := arns{cmp.Or(opts.Partition, "aws"), cmp.Or(opts.Region, "REGION"), cmp.Or(opts.Account, "ACCOUNT"), s}
	var all []RolePolicy
	for _, name := range s.ExchangeNames() {
		g := grants{}
		g.allow(at.topic(name), "sns:GetTopicAttributes", "sns:Publish")
		g.key(at, s.Exchanges[name].KMSKey)
		g.bodies(at, "s3:PutObject")
		if opts.Later && s.Exchanges[name].Topic == "" {
			g.parks(at, name, s.Exchanges[name].Ordered)
		}
		all = append(all, RolePolicy{Role: "producer", Channel: name + ".*", Policy: g.document()})
	}
	for _, name := range s.ChannelNames() {
		c := s.Channels[name]
		of, _, many := cutName(name)
		if !many {
			g := grants{}
			g.allow(at.queue(name, false), "sqs:GetQueueAttributes", "sqs:GetQueueUrl", "sqs:SendMessage")
			g.key(at, c.KMSKey)
			g.bodies(at, "s3:PutObject")
			if opts.Later && c.Queue == "" {
				g.parks(at, name, c.Ordered)
			}
			all = append(all, RolePolicy{Role: "producer", Channel: name, Policy: g.document()})
		}
		g := grants{}
		g.allow(at.queue(name, false), "sqs:ChangeMessageVisibility", "sqs:DeleteMessage", "sqs:GetQueueAttributes",
			"sqs:GetQueueUrl", "sqs:ReceiveMessage")
		if !c.NoDeadLetters {
			g.allow(at.queue(name, true), "sqs:GetQueueAttributes", "sqs:GetQueueUrl", "sqs:SendMessage")
		}
		g.key(at, c.KMSKey)
		g.bodies(at, "s3:GetObject")
		if !many { // the body of an exchange's message has several readers
			g.bodies(at, "s3:DeleteObject")
		}
		if waits := c.Queue == "" && (!many || s.Exchanges[of].Topic == ""); waits {
			g.allow(at.later(of), "sqs:GetQueueUrl") // to see that no message waits for its time
			if !s.orderedness(name) {
				g.allow(at.ticks(of), "sqs:GetQueueUrl") // to see that there is no message of a schedule
			}
			if opts.Later {
				g.wakes(at, name, s)
			}
		}
		all = append(all, RolePolicy{Role: "consumer", Channel: name, Policy: g.document()})
	}
	all = append(all,
		RolePolicy{Role: "provisioner", Policy: provisioner(s, at)},
		RolePolicy{Role: "operator", Policy: operator(s, at, opts.Later)},
		RolePolicy{Role: "sweeper", Policy: sweeper(at)},
	)
	return append(all, keyPolicies(s, at)...), nil
}

// keyPolicies are statements for the policies of keys, with which SNS sends to encrypted queues.
func keyPolicies(s *Spec, at arns) (all []RolePolicy) {
	topics := map[string][]string{} // by key
	for _, name := range s.ChannelNames() {
		exchange, _, many := cutName(name)
		if key := s.Channels[name].KMSKey; many && key != "" && !slices.Contains(topics[key], at.topic(exchange)) {
			topics[key] = append(topics[key], at.topic(exchange))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(topics)) {
		all = append(all, RolePolicy{Role: "key", Key: key, Policy: object{
			"Version": "2012-10-17", "Statement": []any{object{
				"Sid": "SNS", "Effect": "Allow", "Principal": object{"Service": "sns.amazonaws.com"}, "Resource": "*",
				"Action":    []string{"kms:Decrypt", "kms:GenerateDataKey"},
				"Condition": object{"ArnEquals": object{"aws:SourceArn": topics[key]}},
			}},
		}})
	}
	return all
}

// parks allows what a producer needs of the queues in which messages of a channel or an exchange wait.
func (g grants) parks(at arns, of string, ordered bool) {
	g.allow(at.later(of), "sqs:CreateQueue", "sqs:GetQueueAttributes", "sqs:GetQueueUrl", "sqs:SendMessage",
		"sqs:SetQueueAttributes", "sqs:TagQueue")
	g.decides(at)
	if !ordered {
		g.allow(at.ticks(of), "sqs:CreateQueue", "sqs:GetQueueAttributes", "sqs:GetQueueUrl", "sqs:SendMessage",
			"sqs:SetQueueAttributes", "sqs:TagQueue")
	}
}

// wakes allows what a consumer needs to send on messages that are due.
func (g grants) wakes(at arns, name string, s *Spec) {
	of, _, many := cutName(name)
	g.allow(at.later(of), "sqs:ChangeMessageVisibility", "sqs:DeleteMessage", "sqs:GetQueueAttributes",
		"sqs:ReceiveMessage", "sqs:SendMessage")
	if !s.orderedness(name) {
		g.allow(at.ticks(of), "sqs:ChangeMessageVisibility", "sqs:DeleteMessage", "sqs:GetQueueAttributes",
			"sqs:ReceiveMessage")
	}
	if !many {
		g.allow(at.queue(name, false), "sqs:SendMessage")
	} else {
		g.allow(at.topic(of), "sns:GetTopicAttributes", "sns:Publish")
		g.key(at, s.Exchanges[of].KMSKey)
	}
	g.bodies(at, "s3:PutObject")
	g.decides(at)
}

// provisioner is the policy of a program that plans and applies.
func provisioner(s *Spec, at arns) map[string]any {
	g := grants{}
	g.allow("*", "tag:GetResources")
	g.allow("*", "sqs:ListQueues", "sns:ListTopics") // to look up names at once
	for _, name := range s.ExchangeNames() {
		e := s.Exchanges[name]
		if e.Topic != "" {
			g.allow(at.topic(name), "sns:GetTopicAttributes")
			continue
		}
		g.allow(at.topic(name), "sns:CreateTopic", "sns:GetTopicAttributes", "sns:ListTagsForResource",
			"sns:SetTopicAttributes", "sns:TagResource")
		g.allow(at.named("sns", at.name(!e.Ordered, name)), "sns:GetTopicAttributes") // of the other order
		for _, ordered := range []bool{false, true} {
			g.allow(at.named("sqs", at.name(ordered, name)), "sqs:GetQueueUrl") // the name as that of a queue
		}
	}
	for _, name := range s.ChannelNames() {
		provisionerOf(s, at, g, name)
	}
	if s.Payloads.Bucket != "" {
		g.allow("arn:"+at.partition+":s3:::"+s.Payloads.Bucket, "s3:CreateBucket",
			"s3:GetLifecycleConfiguration", "s3:ListBucket", "s3:PutBucketPolicy", "s3:PutBucketPublicAccessBlock",
			"s3:PutLifecycleConfiguration")
	}
	return g.document()
}

func provisionerOf(s *Spec, at arns, g grants, name string) {
	c := s.Channels[name]
	exchange, _, many := cutName(name)
	if c.Queue != "" {
		g.allow(at.queue(name, false), "sqs:GetQueueAttributes", "sqs:GetQueueUrl")
		return
	}
	ordered := s.orderedness(name)
	for _, dead := range []bool{false, true} {
		if dead && c.NoDeadLetters {
			continue
		}
		g.allow(at.queue(name, dead), "sqs:CreateQueue", "sqs:GetQueueAttributes", "sqs:GetQueueUrl",
			"sqs:ListQueueTags", "sqs:SetQueueAttributes", "sqs:TagQueue")
		g.allow(at.named("sqs", at.queueName(name, dead, !ordered)), "sqs:GetQueueUrl") // of the other order
	}
	if !many { // the name as that of an exchange
		for _, ordered := range []bool{false, true} {
			g.allow(at.named("sns", at.name(ordered, name)), "sns:GetTopicAttributes")
		}
		return
	}
	g.allow(at.topic(exchange), "sns:GetTopicAttributes", "sns:ListSubscriptionsByTopic", "sns:Subscribe")
	g.allow("*", "sns:GetSubscriptionAttributes", "sns:SetSubscriptionAttributes")
}

// operator is the policy of whoever looks at channels, and mends them: lists, describes, peeks, exports, imports,
// requeues, discards, purges, pauses and is alerted. With later, messages that wait for their time are looked at and
// purged, too, and cancelled if the declaration has decisions.
func operator(s *Spec, at arns, later bool) map[string]any {
	g := grants{}
	waits := func(of string) {
		if later {
			for _, queue := range []string{at.later(of), at.ticks(of)} {
				g.allow(queue, "sqs:GetQueueAttributes", "sqs:GetQueueUrl", "sqs:ListQueueTags", "sqs:PurgeQueue")
			}
		}
	}
	g.decides(at)
	g.allow("*", "cloudwatch:GetMetricData", "cloudwatch:ListMetrics", "sns:GetSubscriptionAttributes",
		"tag:GetResources")
	for _, action := range []string{"s3:DeleteObject", "s3:GetObject", "s3:PutObject"} {
		g.bodies(at, action)
	}
	for _, name := range s.ExchangeNames() {
		g.allow(at.topic(name), "sns:GetTopicAttributes", "sns:ListSubscriptionsByTopic", "sns:ListTagsForResource",
			"sns:Publish")
		g.key(at, s.Exchanges[name].KMSKey)
		if s.Exchanges[name].Topic == "" {
			waits(name)
		}
	}
	for _, name := range s.ChannelNames() {
		c := s.Channels[name]
		if _, _, many := cutName(name); !many && c.Queue == "" {
			waits(name)
		}
		for _, dead := range []bool{false, true} {
			if dead && c.NoDeadLetters {
				continue
			}
			g.allow(at.queue(name, dead), "sqs:ChangeMessageVisibility", "sqs:DeleteMessage", "sqs:GetQueueAttributes",
				"sqs:GetQueueUrl", "sqs:ListQueueTags", "sqs:PurgeQueue", "sqs:ReceiveMessage", "sqs:SendMessage")
		}
		if c.Queue == "" {
			g.allow(at.queue(name, false), "sqs:SetQueueAttributes") // a pause
		}
		g.key(at, c.KMSKey)
	}
	return g.document()
}

// sweeper is the policy of a program that deletes what nobody uses, and of its undo.
func sweeper(at arns) map[string]any {
	g := grants{}
	g.allow("*", "cloudwatch:GetMetricData", "cloudwatch:ListMetrics", "sns:GetSubscriptionAttributes",
		"sns:Unsubscribe", "tag:GetResources")
	g.allow(at.all("sqs"), "sqs:CreateQueue", "sqs:DeleteQueue", "sqs:GetQueueAttributes", "sqs:GetQueueUrl",
		"sqs:ListDeadLetterSourceQueues", "sqs:ListQueueTags", "sqs:TagQueue")
	g.allow(at.all("sns"), "sns:CreateTopic", "sns:DeleteTopic", "sns:GetTopicAttributes",
		"sns:ListSubscriptionsByTopic", "sns:ListTagsForResource", "sns:Subscribe", "sns:TagResource")
	return g.document()
}

// arns are the names of resources in policies.
type arns struct {
	partition, region, account string
	spec                       *Spec
}

func (a arns) named(service, name string) string {
	return strings.Join([]string{"arn", a.partition, service, a.region, a.account, name}, ":")
}

func (a arns) name(ordered bool, parts ...string) string {
	return awsName(a.spec.Namespace, ordered, parts...)
}

// later is where messages of a channel or an exchange wait for their time.
func (a arns) later(of string) string { return a.named("sqs", a.name(false, of, part.Later)) }

// ticks is where messages of schedules are before they are sent on.
func (a arns) ticks(of string) string { return a.named("sqs", a.name(true, of, part.Ticks)) }

// all are the resources of the namespace.
func (a arns) all(service string) string {
	name := "*"
	if a.spec.Namespace != "" {
		name = a.spec.Namespace + "---*"
	}
	return a.named(service, name)
}

func (a arns) topic(exchange string) string {
	e := a.spec.Exchanges[exchange]
	return a.mapped("sns", e.Topic, a.name(e.Ordered, exchange))
}

func (a arns) queueName(channel string, dead, ordered bool) string {
	parts := strings.SplitN(channel, ".", 2)
	if dead {
		parts = append(parts, part.DeadLetters)
	}
	return a.name(ordered, parts...)
}

func (a arns) queue(channel string, dead bool) string {
	c := a.spec.Channels[channel]
	is := c.Queue
	if dead {
		is = c.DeadLetters
	}
	return a.mapped("sqs", is, a.queueName(channel, dead, a.spec.orderedness(channel)))
}

// mapped is the ARN of a resource that the declaration maps, or else of the one with a name.
func (a arns) mapped(service, resource, name string) string {
	switch {
	case strings.HasPrefix(resource, "arn:"):
		return resource
	case resource != "":
		return a.named(service, lastName(resource))
	}
	return a.named(service, name)
}

// grants are the actions of a policy by their resources.
type grants map[string]map[string]bool

func (g grants) allow(resource string, actions ...string) {
	if g[resource] == nil {
		g[resource] = map[string]bool{}
	}
	for _, action := range actions {
		g[resource][action] = true
	}
}

// bodies allows an action on the bodies of large messages, if the declaration says where they are.
func (g grants) bodies(at arns, action string) {
	if p := at.spec.Payloads; p.Bucket != "" {
		g.allow("arn:"+at.partition+":s3:::"+p.Bucket+"/"+p.Prefix+"*", action)
	}
}

// decides allows what decides which messages are cancelled, if the declaration says where that is.
func (g grants) decides(at arns) {
	if d := at.spec.Decisions; d.Bucket != "" {
		g.allow("arn:"+at.partition+":s3:::"+d.Bucket+"/"+d.Prefix+"*", "s3:GetObject", "s3:PutObject")
	}
}

// key allows what SQS and SNS do with a key of KMS for its caller. No call of Godwit shows it.
func (g grants) key(at arns, key string) {
	switch {
	case key == "":
		return
	case strings.HasPrefix(key, "alias/"):
		key = at.named("kms", "key/*") + " " + key // with a condition
	case !strings.HasPrefix(key, "arn:"):
		key = at.named("kms", "key/"+key)
	}
	g.allow(key, "kms:Decrypt", "kms:GenerateDataKey")
}

// document is a policy of IAM.
func (g grants) document() map[string]any {
	var statements []any
	for _, resource := range slices.Sorted(maps.Keys(g)) {
		arn, alias, _ := strings.Cut(resource, " ")
		one := object{"Effect": "Allow", "Resource": arn, "Action": slices.Sorted(maps.Keys(g[resource]))}
		if alias != "" {
			one["Condition"] = object{"ForAnyValue:StringEquals": object{"kms:ResourceAliases": alias}}
		}
		statements = append(statements, one)
	}
	return object{"Version": "2012-10-17", "Statement": statements}
}
