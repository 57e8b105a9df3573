package onaws

import (
	"github.com/godwitmq/godwit/snssqs"
	"github.com/godwitmq/godwit/topology"
)

// Options returns the options of the backend on which the channels of a declaration are. Add to them what no
// declaration has: a store for its bucket of payloads, the configuration of AWS, a logger.
func Options(s *topology.Spec) *snssqs.Options {
	o := &snssqs.Options{Namespace: s.Namespace, Names: map[string]snssqs.Resource{}}
	for name, e := range s.Exchanges {
		if e.Topic != "" {
			o.Names[name+".*"] = snssqs.Resource{Topic: e.Topic}
		}
	}
	for name, c := range s.Channels {
		if c.Queue != "" || c.DeadLetters != "" {
			o.Names[name] = snssqs.Resource{Queue: c.Queue, DeadLetters: c.DeadLetters}
		}
	}
	return o
}
