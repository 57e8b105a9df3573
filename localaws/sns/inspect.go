package sns

import (
	"maps"
	"slices"
	"time"
)

// TopicState is a topic as inspection shows it.
type TopicState struct {
	ARN           string
	Name          string
	FIFO          bool
	Attributes    map[string]string // as GetTopicAttributes shows them
	Tags          map[string]string
	Subscriptions []SubscriptionState
}

// SubscriptionState is a subscription as inspection shows it.
type SubscriptionState struct {
	ARN        string
	TopicARN   string
	Protocol   string
	Endpoint   string
	Confirmed  bool
	Token      string            // the token that confirms or restores it; "": none
	Attributes map[string]string // as GetSubscriptionAttributes shows them
}

// Topics returns every topic with its subscriptions, in the order in which they were created.
func (s *Service) Topics() []TopicState {
	s.mu.RLock()
	defer s.mu.RUnlock()
	states := make([]TopicState, 0, len(s.topics))
	for _, t := range s.inOrder() {
		state := TopicState{
			ARN: t.arn, Name: t.name, FIFO: t.fifo, Attributes: t.shown(s.opts.Account),
			Tags: maps.Clone(t.tags),
		}
		for _, sub := range t.subscriptions {
			state.Subscriptions = append(state.Subscriptions, shownState(s.registry, sub))
		}
		states = append(states, state)
	}
	return states
}

// Pending returns the unconfirmed subscriptions, in the order in which they were created.
func (s *Service) Pending() []SubscriptionState {
	var pending []SubscriptionState
	for _, t := range s.Topics() {
		for _, sub := range t.Subscriptions {
			if !sub.Confirmed {
				pending = append(pending, sub)
			}
		}
	}
	return pending
}

// Failures returns the service's part of [Carrier.Failures].
func (s *Service) Failures() []Failure {
	return slices.DeleteFunc(s.carrier.Failures(), func(f Failure) bool { return f.place() != s.place() })
}

// Topic reports whether there is a topic with an ARN.
func (s *Service) Topic(arn string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.topics[arn] != nil
}

func shownState(r *registry, sub *subscription) SubscriptionState {
	return SubscriptionState{
		ARN: sub.arn, TopicARN: sub.topicARN, Protocol: sub.protocol, Endpoint: sub.endpoint,
		Confirmed: sub.confirmed, Token: sub.token, Attributes: r.shown(sub),
	}
}

// Tagged returns the tags of every topic that has tags, by ARN.
func (s *Service) Tagged() map[string]map[string]string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	tagged := map[string]map[string]string{}
	for arn, t := range s.topics {
		if len(t.tags) > 0 {
			tagged[arn] = maps.Clone(t.tags)
		}
	}
	return tagged
}

// Unsent returns the service's part of [Carrier.Unsent].
func (s *Service) Unsent() []Unsent {
	return slices.DeleteFunc(s.carrier.Unsent(), func(m Unsent) bool {
		return m.Account != s.opts.Account || m.Region != s.opts.Region
	})
}

// Collect returns a topic's counts, and starts again. If there was no call for the time idle, or if the topic is
// deleted, it sleeps from now on, and awake is false.
func (s *Service) Collect(m Metered, idle time.Duration) (c Counts, awake bool) {
	t := m.topic.meter
	t.mu.Lock()
	defer t.mu.Unlock()
	c, t.counts = t.counts, Counts{}
	t.awake = !t.gone && s.opts.Clock.Elapsed()-t.called < idle
	return c, t.awake
}
