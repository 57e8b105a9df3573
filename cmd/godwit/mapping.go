package main

import (
	"fmt"
	"strings"

	"github.com/godwitmq/godwit/snssqs"
)

// names are the resources that --map names, as the programs' snssqs.Options.Names: orders=QUEUE, orders@dlq=QUEUE for
// dead letters that the queue's own policy does not name, and wishes.*=TOPIC.
func (b *backendFlags) names() (map[string]snssqs.Resource, error) {
	if len(b.maps) == 0 {
		return nil, nil
	}
	all := map[string]snssqs.Resource{}
	for _, one := range b.maps {
		channel, at, ok := strings.Cut(one, "=")
		of, deadLetters := strings.CutSuffix(channel, "@dlq")
		if !ok || of == "" || at == "" {
			return nil, fmt.Errorf("--map is %q: write CHANNEL=RESOURCE, as in orders=Legacy_Orders, "+
				"orders@dlq=Legacy_Dead or 'wishes.*=arn:aws:sns:eu-west-1:123456789012:Wishes'", one)
		}
		r := all[of]
		field := &r.Queue
		switch {
		case deadLetters:
			field = &r.DeadLetters
		case strings.HasSuffix(of, ".*"):
			field = &r.Topic
		}
		if *field != "" {
			return nil, fmt.Errorf("--map names two resources for %s: %s and %s", channel, *field, at)
		}
		*field = at
		all[of] = r
	}
	return all, nil
}
