package tagging

import (
	"github.com/godwitmq/godwit/localaws/wire"
)

// Resource is a resource with tags.
type Resource struct {
	ARN  string
	Tags map[string]string
}

// Source lists the tagged resources of one service in a place, in any order.
type Source func(wire.Place) []Resource

// Service is the model of the tagging API. It stores nothing, and is safe for concurrent use if its sources are.
type Service struct{ sources []Source }

// New returns a service over sources.
func New(sources ...Source) *Service {
	return &Service{sources: sources}
}

// Wire returns the service's actions.
func (s *Service) Wire() *wire.Service {
	return &wire.Service{
		Name:    "tagging",
		Target:  "ResourceGroupsTaggingAPI_20170126",
		JSON:    "1.1",
		Actions: []wire.Action{wire.Op("GetResources", s.getResources)},
	}
}
