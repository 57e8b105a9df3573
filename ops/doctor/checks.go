package doctor

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/godwitmq/godwit/driver"
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
		deadLetters, retention, receives, encryption, policy, subscription, replicas, paused, waitingLetters,
	}
}

func (p *patient) isQueue() bool { return p.Channel.Channel.Role() == driver.RoleQueue }

// onSQS reports whether the channel is a queue of SQS whose settings are known.
func (p *patient) onSQS() bool { return p.Setting("VisibilityTimeout") != "" }

func deadLetters(p *patient) {
	if p.isQueue() && p.onSQS() && p.Setting("RedrivePolicy") == "" {
		p.found(Problem, "it has no dead letters",
			"a message that kills its process each time comes back until its retention ends, and is then deleted",
			"start a consumer without NoDeadLetters, or set a redrive policy")
	}
}

func retention(p *patient) {
	if !p.isQueue() || p.letters == nil {
		return
	}
	own, letters := p.kept(), (&patient{Channel: p.letters}).kept()
	if own == 0 || letters == 0 || letters >= own+keptLonger || letters >= 14*24*time.Hour {
		return // SQS keeps nothing for more than 14 days
	}
	p.found(Problem, fmt.Sprintf("messages are kept for %s, and its dead letters for %s", days(own), days(letters)),
		"the age of a dead letter counts from its first send: one that dies late is deleted before somebody sees it",
		"keep the dead letters for 14 days: set MessageRetentionPeriod of "+p.letters.Address+" to 1209600")
}

// kept is how long messages are kept; 0: unknown.
func (p *patient) kept() time.Duration {
	n, err := strconv.ParseInt(p.Setting("MessageRetentionPeriod"), 10, 64)
	if err != nil {
		return 0
	}
	return time.Duration(n) * time.Second
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
		p.found(Warning, fmt.Sprintf("SQS moves a message to the dead letters after %d receives", n),
			"each release at a deploy is a receive: messages that no handler has failed for become dead letters",
			fmt.Sprintf("set maxReceiveCount to %d or more; MaxAttempts of the consumer bounds the failures", leastReceives))
	}
}

func encryption(p *patient) {
	switch {
	case !p.onSQS(), p.Setting("KmsMasterKeyId") != "", p.Setting("SqsManagedSseEnabled") == "true":
	default:
		p.found(Warning, "messages are not encrypted where they are stored",
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
	p.found(Problem, "its policy does not let SNS send to it", "messages of the exchange do not arrive",
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
		switch {
		case !ok || err != nil:
		case n < 2:
			p.found(Warning, "topic "+topic+" has one replica", "the loss of a broker loses its messages",
				"give the topic three replicas, and min.insync.replicas 2 (kafka.Options.Replication for new ones)")
		case n > 2 && p.Setting(topic+" min.insync.replicas") == "1":
			p.found(Warning, fmt.Sprintf("topic %s has %d replicas, and min.insync.replicas 1", topic, n),
				"a message that is acknowledged may be on one broker only", "set min.insync.replicas to 2")
		}
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
