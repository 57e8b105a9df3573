package kafkalocal

import (
	"maps"
	"slices"
)

// TopicConfigs are the names of all topic configs that the server knows.
func TopicConfigs() []string { return slices.Sorted(maps.Keys(topicConfigs())) }
