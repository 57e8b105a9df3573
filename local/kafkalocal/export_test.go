package kafkalocal

import (
	"context"
	"maps"
	"net"
	"slices"
)

// TopicConfigs are the names of all topic configs that the server knows.
func TopicConfigs() []string { return slices.Sorted(maps.Keys(topicConfigs())) }

// Dial connects to the first broker.
func (s *Server) Dial(ctx context.Context) (net.Conn, error) { return s.net.dial(ctx, "tcp", s.Addr()) }
