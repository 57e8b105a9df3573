package snssqs

import (
	"fmt"
	"strings"

	"github.com/godwitmq/godwit/snssqs/internal/estate"
	"github.com/godwitmq/godwit/snssqs/internal/trust"
)

// checkEnvelopes refuses settings of Options.EnvelopesFrom that can have no effect.
func checkEnvelopes(from map[string][]string) error {
	for channel, topics := range from {
		if strings.Contains(channel, "@") {
			return fmt.Errorf("snssqs: Options.EnvelopesFrom[%q]: name the channel itself; its dead letters are read as "+
				"its messages", channel)
		}
		if err := checkMapping(channel, Resource{}); err != nil {
			return fmt.Errorf("snssqs: Options.EnvelopesFrom[%q]: %w", channel, err)
		}
		for _, topic := range topics {
			if a, ok := estate.ParseARN(topic); topic != trust.AnyTopic && (!ok || a.Service != "sns") {
				return fmt.Errorf("snssqs: Options.EnvelopesFrom[%q] has %q: it must be the ARN of an SNS topic, or %q "+
					"for every topic", channel, topic, trust.AnyTopic)
			}
		}
	}
	return nil
}
