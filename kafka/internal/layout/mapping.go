package layout

import (
	"cmp"
	"maps"
	"slices"

	"github.com/godwitmq/godwit/driver"
)

// Place is what a channel uses instead of what it would have by its name. "": by its name.
type Place struct{ Topic, Group, DeadLetters string }

// Mapping has the places of channels that use topics and groups of other names. It does not change. nil: there are
// none.
type Mapping struct {
	places  map[driver.Channel]Place
	topics  map[string][]driver.Channel // the channels of a mapped topic
	letters map[string]bool             // the mapped topics of dead letters
}

// NewMapping returns the mapping of some channels. An exchange is a channel without a queue.
func NewMapping(places map[driver.Channel]Place) *Mapping {
	m := &Mapping{
		places: maps.Clone(places), topics: map[string][]driver.Channel{}, letters: map[string]bool{},
	}
	for _, ch := range m.channels() {
		p := places[ch]
		if p.Topic != "" {
			m.topics[p.Topic] = append(m.topics[p.Topic], ch)
		}
		if p.DeadLetters != "" {
			m.letters[p.DeadLetters] = true
		}
	}
	return m
}

// channels are those with a place, sorted by name.
func (m *Mapping) channels() []driver.Channel {
	if m == nil {
		return nil
	}
	return slices.SortedFunc(maps.Keys(m.places), func(x, y driver.Channel) int {
		return cmp.Compare(x.String(), y.String())
	})
}

// of is the place of a channel, whatever the options of a consumer add to its name.
func (m *Mapping) of(ch driver.Channel) Place {
	if m == nil {
		return Place{}
	}
	return m.places[key(ch)]
}

// topic is the topic that is mapped for a channel; "": none.
func (m *Mapping) topic(ch driver.Channel) string {
	if ch.Exchange != "" {
		ch.Queue = ""
	}
	return m.of(ch).Topic
}

// sharing are the channels of a mapped topic.
func (m *Mapping) sharing(topic string) []driver.Channel {
	if m == nil {
		return nil
	}
	return m.topics[topic]
}

// isLetters reports whether a topic is mapped as that of a channel's dead letters.
func (m *Mapping) isLetters(topic string) bool { return m != nil && m.letters[topic] }

func key(ch driver.Channel) driver.Channel {
	return driver.Channel{Exchange: ch.Exchange, Queue: ch.Queue}
}
