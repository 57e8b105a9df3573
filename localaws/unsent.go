package localaws

import (
	"fmt"
	"net/http"
	"time"

	"github.com/godwitmq/godwit/localaws/wire"
)

// unsentView is a message for a protocol that the server does not deliver to.
type unsentView struct {
	At           time.Time `json:"at"`
	Account      string    `json:"account"`
	Region       string    `json:"region"`
	Subscription string    `json:"subscription,omitempty"` // "": it was published to a telephone number
	Protocol     string    `json:"protocol"`
	Endpoint     string    `json:"endpoint"`
	MessageID    string    `json:"messageId"`
	Subject      string    `json:"subject,omitempty"`
	Body         string    `json:"body"`

	number string
}

// listUnsent lists the unsent messages that SNS keeps, by their numbers in it.
func listUnsent(s *Server, p page, r *http.Request) (map[string]any, error) {
	chosen, err := s.places.choice(r)
	if err != nil {
		return nil, err
	}
	all := []unsentView{}
	for i, m := range s.carrier.Unsent() {
		if !chosen.has(wire.Place{Account: m.Account, Region: m.Region}) {
			continue
		}
		all = append(all, unsentView{
			At: m.At.UTC(), Account: m.Account, Region: m.Region, Subscription: m.SubscriptionARN,
			Protocol: m.Protocol, Endpoint: m.Endpoint,
			MessageID: m.MessageID, Subject: m.Subject, Body: m.Body, number: fmt.Sprintf("%04d", i),
		})
	}
	some, next := cut(p, all, func(m *unsentView) string { return m.number })
	return map[string]any{"unsent": some, "next": next}, nil
}
