package main

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/godwitmq/godwit/cmd/internal/operator"
)

// The environment variables, besides those of the notifiers.
const (
	stateVariable       = "GODWIT_STATE"
	namespaceVariable   = "GODWIT_NAMESPACE"
	ownerVariable       = "GODWIT_OWNER"
	alertOwnersVariable = "GODWIT_ALERT_OWNERS"
	topicVariable       = "GODWIT_SNS_TOPIC"
)

// settings are what the environment says.
type settings struct {
	namespace string
	owner     string   // whose channels are swept
	owners    []string // whose channels have alerts; empty: all
	notifiers operator.Notifiers
	state     operator.State // its key is the beginning of those of all states
}

// readSettings reads the environment for a run.
func readSettings(run string) (*settings, error) {
	s := &settings{
		namespace: os.Getenv(namespaceVariable), owner: os.Getenv(ownerVariable),
		notifiers: operator.Notifiers{
			Slack: os.Getenv(operator.SlackVariable) != "",
			// One of them alone is an error, which NewWebhook returns.
			Webhook: cmp.Or(os.Getenv(operator.WebhookVariable), os.Getenv(operator.WebhookSecretVariable)) != "",
			Topic:   os.Getenv(topicVariable), TopicBy: topicVariable,
		},
	}
	if run == runSweep && s.owner == "" {
		return nil, errors.New(ownerVariable + " is not set: a sweep deletes channels of one owner, so set it to the " +
			"value of their tag owner")
	}
	for name := range strings.SplitSeq(os.Getenv(alertOwnersVariable), ",") {
		if name = strings.TrimSpace(name); name != "" {
			s.owners = append(s.owners, name)
		}
	}
	address := os.Getenv(stateVariable)
	if address == "" {
		return nil, errors.New(stateVariable + " is not set: without a state, each run would tell everything again, and " +
			"no sweep would delete anything; set it to s3://bucket/prefix")
	}
	var err error
	if s.state, err = operator.ParseState(address); err != nil {
		return nil, fmt.Errorf("%s: %w", stateVariable, err)
	}
	if s.state.Key = strings.TrimSuffix(s.state.Key, "/"); s.state.Key != "" {
		s.state.Key += "/"
	}
	if s.namespace != "" { // two namespaces never share a state
		s.state.Key += s.namespace + "/"
	}
	return s, nil
}

// named is the state of this name.
func (s *settings) named(name string) operator.State {
	return operator.State{Bucket: s.state.Bucket, Key: s.state.Key + name}
}

// sweepName is the beginning of the names of an owner's sweeps. A tag may have any character.
func (s *settings) sweepName() string { return "sweep-" + url.PathEscape(s.owner) }

// flags are those with which the command reaches the same channels.
func (s *settings) flags() string {
	if s.namespace == "" {
		return ""
	}
	return "--namespace " + s.namespace
}
