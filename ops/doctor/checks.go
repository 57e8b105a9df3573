package doctor

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops/describe"
)

// leastReceives is how many receives a queue should allow before SQS moves a message to the dead letters by itself: a
// release, as at each deploy, is a receive.
const leastReceives = 20

// keptLonger is how much longer dead letters should be kept than messages of their queue: on a standard queue, the time
// counts from the first send, so a message that dies on its last day would be deleted at once.
const keptLonger = 24 * time.Hour

// checks are all that is looked at, on whatever service.
func checks() []func(*patient) {
	return []func(*patient){
		deadLetters, retention, receives, lease, encryption, policy, subscription, replicas, paused,
		waitingLetters, laterMessages,
	}
}

func (p *patient) isQueue() bool { return p.Channel.Channel.Role() == driver.RoleQueue }

// onSQS reports whether the channel is a queue of SQS whose settings are known.
func (p *patient) onSQS() bool { return p.Setting("VisibilityTimeout") != "" }

func deadLetters(p *patient) {
	if p.isQueue() && p.onSQS() && p.Setting("RedrivePolicy") == "" {
		p.fixable(func(s *driver.ChannelSpec) {
			s.NoDeadLetters = false
			s.MaxReceives = max(s.MaxReceives, p.enoughReceives())
		}, Problem, "it has no dead letters",
			"a message that kills its process each time comes back until its retention ends, and is then deleted",
			"start a consumer without NoDeadLetters, or set a redrive policy")
	}
}

func retention(p *patient) {
	if !p.isQueue() || p.letters == nil {
		return
	}
	own, letters := p.Kept(), p.letters.Kept()
	if own == 0 || letters == 0 || letters >= own+keptLonger || letters >= 14*24*time.Hour {
		return // SQS keeps nothing for more than 14 days
	}
	p.fixable(func(s *driver.ChannelSpec) { s.DeadRetention = 0 },
		Problem, fmt.Sprintf("messages are kept for %s, and its dead letters for %s", days(own), days(letters)),
		"the age of a dead letter counts from its first send: one that dies late is deleted before somebody sees it",
		"keep the dead letters for 14 days: set MessageRetentionPeriod of "+p.letters.Address+" to 1209600")
}

func days(d time.Duration) string {
	if d < 48*time.Hour {
		return d.String()
	}
	return strconv.FormatFloat(d.Hours()/24, 'f', -1, 64) + " days"
}

func receives(p *patient) {
	var redrive struct {
		Max json.Number `json:"maxReceiveCount"` // AWS writes a number, others a string
	}
	if json.Unmarshal([]byte(p.Setting("RedrivePolicy")), &redrive) != nil {
		return
	}
	if n, err := redrive.Max.Int64(); err == nil && n < leastReceives && p.isQueue() {
		p.fixable(func(s *driver.ChannelSpec) { s.MaxReceives = max(s.MaxReceives, p.enoughReceives()) },
			Warning, fmt.Sprintf("SQS moves a message to the dead letters after %d receives", n),
			"each release at a deploy is a receive: messages that no handler has failed for become dead letters",
			fmt.Sprintf("set maxReceiveCount to %d or more; MaxAttempts of the consumer bounds the failures", leastReceives))
	}
}

// enoughReceives is what the consumer of a queue sets with three attempts.
func (p *patient) enoughReceives() int {
	if p.Channel.Channel.Ordered {
		return 100 // each release of a lane is a receive of all of its messages
	}
	return 30
}

// leases of SQS that do not fit: a shorter one ends before a renewal that is repeated once, and a longer one keeps the
// messages of a process that has died.
const (
	shortLease = 10 * time.Second
	longLease  = 15 * time.Minute
)

func lease(p *patient) {
	n, err := strconv.Atoi(p.Setting("VisibilityTimeout"))
	d, usual := time.Duration(n)*time.Second, func(s *driver.ChannelSpec) { s.Lease = 0 }
	switch {
	case err != nil || !p.isQueue():
	case d < shortLease:
		p.fixable(usual, Warning, fmt.Sprintf("the lease of a message is %v", d),
			"a renewal that is late once loses the lease, and the message is handled twice",
			"leave out ConsumerOptions.Lease, or set a VisibilityTimeout of 30 or more: leases are renewed while handlers run")
	case p.Kept() > 0 && d >= p.Kept():
		p.fixable(usual, Problem, fmt.Sprintf("the lease of a message is %v, and messages are kept for %v", d, days(p.Kept())),
			"a message that a process has lost is deleted before it comes back", "set a shorter VisibilityTimeout")
	case d > longLease:
		p.fixable(usual, Note, fmt.Sprintf("the lease of a message is %v", d),
			"messages of a process that has died come back only then",
			"leave out ConsumerOptions.Lease: leases are renewed while handlers run")
	}
}

func encryption(p *patient) {
	topic := p.Channel.Channel.Role() == driver.RoleExchange && strings.Contains(p.Address, ":sns:")
	switch {
	case topic && p.Setting("KmsMasterKeyId") == "":
		p.found(Note, "SNS does not encrypt the messages of its topic where they are stored",
			"whoever reads SNS's disks reads messages that are not delivered yet",
			"aws sns set-topic-attributes --topic-arn "+p.Address+" --attribute-name KmsMasterKeyId --attribute-value "+
				"alias/aws/sns (a key of your own if other services or accounts publish to it)")
	case !p.onSQS(), p.Setting("KmsMasterKeyId") != "", p.Setting("SqsManagedSseEnabled") == "true":
	default:
		p.fixable(func(*driver.ChannelSpec) {}, Warning, "messages are not encrypted where they are stored",
			"whoever reads the service's disks reads them", "set SqsManagedSseEnabled, or ConsumerOptions.Encryption")
	}
}

func policy(p *patient) {
	for _, s := range p.Policy {
		if !s.Denies && s.Who == "everybody" && s.If == "" {
			p.found(Problem, "its policy "+s.String(), "every account of AWS may do that, without a condition",
				"name the accounts or the sources that may, in the policy of "+p.Address)
		}
	}
	if !p.isQueue() || p.Channel.Channel.Exchange == "" || !p.onSQS() {
		return
	}
	for _, s := range p.Policy {
		if !s.Denies && strings.Contains(s.Who, "sns.amazonaws.com") {
			return
		}
	}
	p.fixable(func(*driver.ChannelSpec) {}, Problem, "its policy does not let SNS send to it",
		"messages of the exchange do not arrive",
		"start its consumer with ProvisionAuto, which adds the statement")
}

func subscription(p *patient) {
	switch role := p.Channel.Channel.Role(); {
	case role == driver.RoleQueue && p.Channel.Channel.Exchange != "" && p.onSQS() &&
		p.Setting("subscription topic") == "":
		p.found(Problem, "it is not subscribed to its exchange", "messages of the exchange do not arrive",
			"start its consumer with ProvisionAuto, which subscribes it")
	case role == driver.RoleExchange:
		for _, s := range p.Subscribers {
			if strings.Contains(s, ":sqs:") && !p.addresses[s] {
				p.found(Note, "it is subscribed by "+s+", which is no channel of this namespace",
					"if that queue was deleted, each publish still tries to reach it",
					"remove the subscription if nobody needs it")
			}
		}
	}
}

func replicas(p *patient) {
	for _, s := range p.Settings {
		topic, ok := strings.CutSuffix(s.Name, " replicas")
		n, err := strconv.Atoi(s.Value)
		inSync := cmp.Or(p.Setting(topic+" min.insync.replicas"), p.Setting(topic+" default min.insync.replicas"))
		switch {
		case !ok || err != nil:
		case n < 2:
			p.found(Warning, "topic "+topic+" has one replica", "the loss of a broker loses its messages",
				"kafka-reassign-partitions.sh --bootstrap-server BROKER --execute --reassignment-json-file FILE, with "+
					`{"version":1,"partitions":[{"topic":"`+topic+`","partition":0,"replicas":[1,2,3]}]} and an entry `+
					"for each partition in it; then --fix sets min.insync.replicas. New topics have as many replicas as "+
					"kafka.Options.Replication says")
		case n > 2 && inSync == "1":
			p.found(Warning, fmt.Sprintf("topic %s has %d replicas, and min.insync.replicas 1", topic, n),
				"a message that is acknowledged may be on one broker only",
				"kafka-configs.sh --bootstrap-server BROKER --alter --entity-type topics --entity-name "+topic+
					" --add-config min.insync.replicas=2")
			p.fixedByReplicas()
		}
	}
}

// tierInfix is in the names of topics in which retries wait.
const tierInfix = ".retry."

// ofGroup is in the names of the tiers of a group of its own, which shares them with no other.
const ofGroup = "--"

// leftInFormer begins the names of settings that are topics with records of an earlier version.
const leftInFormer = "topics of earlier versions"

// tiers finds groups beside that of a one-to-one channel. In earlier versions, consumers with a group of their own had
// the channel's tiers and dead letters together with it.
func tiers(ctx context.Context, p *patient) {
	for _, s := range p.Settings {
		if strings.HasPrefix(s.Name, leftInFormer) {
			p.found(Note, "messages of its group are left in a topic of an earlier version, "+s.Value,
				"consumers that were started before they were there do not read them",
				"retries: start a consumer; dead letters: godwit requeue (docs/backends.md)")
		}
	}
	purge := p.report.do.Purge
	if p.report.do.Rewind == nil || purge == nil || !p.isQueue() || p.Channel.Channel.Exchange != "" ||
		!slices.ContainsFunc(p.Settings, func(s describe.Setting) bool {
			return strings.Contains(s.Name, tierInfix) && !strings.Contains(s.Name, ofGroup)
		}) {
		return
	}
	planned, err := purge(ctx, p.Channel.Channel, true)
	switch {
	case err != nil:
		p.report.Unknown = append(p.report.Unknown, err)
	case len(planned.Others) > 0:
		p.found(Note, "retries wait in tiers, and its topic has other groups: "+strings.Join(planned.Others, ", "),
			"programs of an earlier version share its tiers and dead letters, and share groups lose retries of each other",
			"update the programs of these groups, so that each has tiers of its own (docs/backends.md)")
	}
}

func paused(p *patient) {
	if p.Paused {
		p.found(Note, "it is paused", "no consumer receives from it, and its messages grow older",
			"godwit resume "+p.Channel.Channel.String()+" --yes")
	}
}

func waitingLetters(p *patient) {
	if p.Channel.Channel.DeadLetter && p.Depth != nil && p.Depth.Waiting > 0 {
		p.found(Warning, fmt.Sprintf("%d dead letters wait", p.Depth.Waiting),
			"they are deleted when their retention ends", "godwit peek "+p.Channel.Channel.String()+" --groups")
	}
}

// overdueMost is how long delayed messages may be overdue: their consumers may just be changing.
const overdueMost = time.Minute

func laterMessages(p *patient) {
	switch {
	case !p.Channel.Channel.Later || p.Depth == nil || p.Depth.Waiting == 0:
	case p.Depth.Oldest >= 0: // of a log, which says how long they are overdue
		if p.Depth.Oldest >= overdueMost {
			p.found(Warning, fmt.Sprintf("%d delayed messages are overdue", p.Depth.Waiting),
				"a consumer of their channel, or of its exchange, sends them on when they are due",
				"start a consumer that may read topic "+p.Address)
		}
	default:
		p.found(Warning, fmt.Sprintf("%d delayed messages were not received when they should have been", p.Depth.Waiting),
			"a consumer of their channel, or of a queue of their exchange, sends them on when they are due; they are deleted "+
				"14 days after their last send", "start a consumer that may receive from "+p.Address)
	}
}
